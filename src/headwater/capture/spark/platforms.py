"""The settings that switch capture on, for each platform that runs Spark. Pure.

Each way sets the same few environment variables in the driver's Python, and puts Headwater into it; platforms differ in how they spell that.
`Platform.tried` says of each spelling whether it was run, looked up, or neither.
"""

import shlex

import msgspec

from headwater.client.address import lineage_url

DISTRIBUTION = "headwater-capture"
# The driver's disk goes with it, and its spool too: let the end of the program wait longer for the server.
_LAST_SECONDS = "60"
_ENVIRONMENT = (
    "python3 -m venv headwater-env",
    f"headwater-env/bin/pip install {DISTRIBUTION} venv-pack",
    "headwater-env/bin/venv-pack -p headwater-env -o headwater-env.tar.gz",
)
# After `#`: the folder's name on each machine.
_ARCHIVE = "headwater-env.tar.gz#headwater-env"
_PYTHON = "./headwater-env/bin/python"


# A claim that exists, mounted into the driver's pod.
_LASTING = {
    "Env.HEADWATER_HOME": "/headwater",
    ".volumes.persistentVolumeClaim.headwater.mount.path": "/headwater",
    ".volumes.persistentVolumeClaim.headwater.options.claimName": "CLAIM",
}


class Target(msgspec.Struct, frozen=True):
    """The server that the events go to. `namespace`: of the applications' jobs; empty for the default.

    Raises ValueError for an address that is none, and for control characters.
    """

    url: str = "http://headwater.example.com:5000"
    namespace: str = ""

    def __post_init__(self) -> None:
        if lineage_url(self.url) is None:
            raise ValueError(f"{self.url!r} is not a server's address. Begin it with http:// or https://")
        for text in (self.url, self.namespace):
            if not text.isprintable():
                raise ValueError(f"{text!r} has characters that cannot be printed")

    def variables(self) -> dict[str, str]:
        return {
            "HEADWATER_CAPTURE": "spark",
            "HEADWATER_URL": self.url,
            **({"HEADWATER_NAMESPACE": self.namespace} if self.namespace else {}),
        }


class Step(msgspec.Struct, frozen=True):
    """One thing to do: a sentence, and the text to copy in the language `syntax` (`sh`, `python`, `json`, `text`)."""

    what: str
    text: str
    syntax: str = "sh"


_INSTALL = Step("Install capture into the Python that runs the driver.", f"pip install {DISTRIBUTION}")


class Platform(msgspec.Struct, frozen=True):
    """`tried`: how far its settings were run, and where the rest is from; goes on after "Tested: "."""

    name: str
    title: str
    steps: tuple[Step, ...]
    tried: str


def platform(name: str, target: Target) -> Platform:
    """Return the settings of a platform. Raises KeyError for a name that is not in NAMES."""
    return _PLATFORMS[name](target)


def _exports(target: Target) -> str:
    return "\n".join(f"export {key}={shlex.quote(value)}" for key, value in target.variables().items())


def _conf(prefix: str, variables: dict[str, str]) -> str:
    return " \\\n".join(f"  --conf {shlex.quote(f'{prefix}{key}={value}')}" for key, value in variables.items())


def _vanishing(target: Target) -> dict[str, str]:
    """The variables where the driver's disk does not outlive it."""
    return target.variables() | {"HEADWATER_FLUSH_SECONDS": _LAST_SECONDS, "HEADWATER_FLUSH_AWAY": "retry"}


def _submit(target: Target) -> Platform:
    return Platform(
        "submit",
        "spark-submit, pyspark and python (client mode)",
        (
            _INSTALL,
            Step("Set the variables, and start the program as before.", f"{_exports(target)}\nspark-submit job.py"),
        ),
        "with spark-submit and python, on local[*] and a standalone cluster.",
    )


def _standalone(target: Target) -> Platform:
    variables = _vanishing(target) | {"HEADWATER_SPOOL": "/shared/headwater-spool"}
    exports = "\n".join(f"export {key}={shlex.quote(value)}" for key, value in variables.items())
    return Platform(
        "standalone",
        "A standalone cluster, cluster mode",
        (
            Step(
                "Install capture into the Python of every worker, which runs the drivers.",
                f"pip install {DISTRIBUTION}",
            ),
            Step(
                "conf/spark-env.sh of every worker: Spark passes no other variables on to a driver. The folder is on a disk that the workers share.",
                exports,
            ),
            Step(
                "Submit the class that runs a Python program; Spark takes no .py file in this mode. The jar may be any that the workers have.",
                "spark-submit --master spark://MASTER:7077 --deploy-mode cluster \\\n"
                "  --class org.apache.spark.deploy.PythonRunner \\\n"
                "  local:///opt/spark/jars/ANY.jar /shared/job.py ''",
            ),
        ),
        "with a server that comes back within the wait, and with one that comes back after the driver and its disk are gone.",
    )


def _yarn(target: Target) -> Platform:
    return Platform(
        "yarn",
        "YARN",
        (
            Step("Pack an environment once; leave out pyspark, which the cluster has.", "\n".join(_ENVIRONMENT)),
            Step(
                "Cluster mode: the driver is in the application master.",
                "spark-submit --master yarn --deploy-mode cluster \\\n"
                f"  --archives {shlex.quote(_ARCHIVE)} \\\n"
                f"{_conf('spark.yarn.appMasterEnv.', {'PYSPARK_PYTHON': _PYTHON} | _vanishing(target))} \\\n"
                "  job.py",
            ),
            Step(
                "Client mode: the driver is on this machine. Install capture into its Python, and set the variables in this shell.",
                f"pip install {DISTRIBUTION}\n{_exports(target)}\nspark-submit --master yarn job.py",
            ),
        ),
        "an environment with the wheel alone. The settings' names were found in the code of Spark 4.3.0; they were not run on YARN.",
    )


def _kubernetes(target: Target) -> Platform:
    return Platform(
        "kubernetes",
        "Kubernetes",
        (
            Step("Install capture into the image of the driver.", f"RUN pip install {DISTRIBUTION}", "text"),
            Step(
                "Give the driver's pod the variables.",
                "spark-submit --master k8s://https://API-SERVER:6443 --deploy-mode cluster \\\n"
                "  --conf spark.kubernetes.container.image=IMAGE \\\n"
                f"{_conf('spark.kubernetes.driverEnv.', _vanishing(target))} \\\n"
                "  local:///opt/app/job.py",
            ),
            Step(
                "Optional: a volume that outlives the pods. The spool and the classes that capture compiles stay there. Add these lines.",
                _conf("spark.kubernetes.driver", _LASTING),
            ),
        ),
        "not on Kubernetes. The settings' names were found in the code of Spark 4.3.0.",
    )


def _databricks(target: Target) -> Platform:
    variables = "\n".join(f"{key}={value}" for key, value in _vanishing(target).items())
    return Platform(
        "databricks",
        "Databricks (classic compute)",
        (
            Step(
                "An init script of the cluster, in a volume or the workspace.",
                f"#!/bin/bash\nset -e\n/databricks/python/bin/pip install {DISTRIBUTION}",
            ),
            Step("The cluster's environment variables (Advanced, Spark, Environment variables).", variables, "text"),
        ),
        "not on Databricks. The path and the field are from its documentation. Serverless compute and Databricks Connect are Spark Connect: see "
        "`--for connect`, which was not tried there.",
    )


def _emr(target: Target) -> Platform:
    cluster = {f"spark.yarn.appMasterEnv.{key}": value for key, value in _vanishing(target).items()}
    configurations = [
        {"Classification": "spark-defaults", "Properties": cluster},
        {
            "Classification": "spark-env",
            "Properties": {},
            "Configurations": [{"Classification": "export", "Properties": target.variables()}],
        },
    ]
    serverless = {"PYSPARK_DRIVER_PYTHON": _PYTHON, "PYSPARK_PYTHON": _PYTHON} | _vanishing(target)
    return Platform(
        "emr",
        "Amazon EMR, on EC2 and serverless",
        (
            Step("EMR on EC2: a bootstrap action.", f"#!/bin/bash\nset -e\nsudo python3 -m pip install {DISTRIBUTION}"),
            Step(
                "EMR on EC2: the cluster's configurations.",
                msgspec.json.format(msgspec.json.encode(configurations), indent=2).decode(),
                "json",
            ),
            Step("EMR serverless: pack an environment once, and copy it to S3.", "\n".join(_ENVIRONMENT)),
            Step(
                "EMR serverless: the job's sparkSubmitParameters.",
                f"--conf spark.archives=s3://BUCKET/{_ARCHIVE} \\\n{_conf('spark.emr-serverless.driverEnv.', serverless)}",
            ),
        ),
        "not on EMR, and its spellings were not looked up: check them against AWS's documentation. The release's Python must be 3.11 or newer.",
    )


def _properties(properties: dict[str, str]) -> str:
    """Properties for gcloud: a list of them, parted by what no value has (`gcloud topic escaping`)."""
    parted = next(mark for mark in (",", "#", ";;", "::::") if not any(mark in value for value in properties.values()))
    joined = parted.join(f"{key}={value}" for key, value in properties.items())
    return shlex.quote(joined if parted == "," else f"^{parted}^{joined}")


def _dataproc(target: Target) -> Platform:
    vanishing = _vanishing(target).items()
    cluster = {
        "dataproc:pip.packages": f"{DISTRIBUTION}==VERSION",
        **{f"spark-env:{key}": value for key, value in target.variables().items()},
        **{f"spark:spark.yarn.appMasterEnv.{key}": value for key, value in vanishing},
    }
    serverless = {f"spark.dataproc.driverEnv.{key}": value for key, value in vanishing}
    return Platform(
        "dataproc",
        "Google Dataproc, clusters and serverless",
        (
            Step("A cluster.", f"gcloud dataproc clusters create NAME \\\n  --properties {_properties(cluster)}"),
            Step(
                "Serverless: an image that has capture, and the variables.",
                "gcloud dataproc batches submit pyspark job.py --container-image IMAGE \\\n"
                f"  --properties {_properties(serverless)}",
            ),
        ),
        "not on Dataproc. The serverless prefix is from Google's documentation; the cluster's were not looked up, so check them against it.",
    )


def _in_code(target: Target) -> str:
    return (
        "import os\n\n"
        + "\n".join(
            f'os.environ["{key}"] = {msgspec.json.encode(value).decode()}'
            for key, value in target.variables().items()
            if key != "HEADWATER_CAPTURE"
        )
        + "\n\nfrom headwater.capture.spark import attach\n\nattachment = attach(spark)"
    )


def _glue(target: Target) -> Platform:
    return Platform(
        "glue",
        "AWS Glue",
        (
            Step("A parameter of the job.", f"--additional-python-modules {DISTRIBUTION}", "text"),
            Step(
                "Glue passes no variables of these names on to the script. Add these lines to it, after `spark` is made.",
                _in_code(target),
                "python",
            ),
            Step("At the end, before `job.commit()`.", "attachment.flush(60)", "python"),
        ),
        "`attach`, but not on Glue. The parameter is from AWS's documentation.",
    )


def _connect(target: Target) -> Platform:
    return Platform(
        "connect",
        "Spark Connect",
        (
            Step(
                "Install capture into the client's Python; the extra reads texts of SQL. The server needs nothing.",
                f"pip install '{DISTRIBUTION}[connect]'",
            ),
            Step("Set the variables, and start the program as before.", f"{_exports(target)}\npython job.py"),
        ),
        "with a server of PySpark's own script; its lineage is compared with that of the same programs with a JVM.",
    )


def _notebook(target: Target) -> Platform:
    return Platform(
        "notebook",
        "Jupyter",
        (
            Step("Install capture into the kernel's Python.", f"%pip install {DISTRIBUTION}", "text"),
            Step("In the first cell, after `spark` is made.", _in_code(target), "python"),
            Step(
                "Or for every notebook of a kernel: the `env` of its kernel.json (`jupyter kernelspec list` tells where it is).",
                msgspec.json.format(msgspec.json.encode({"env": target.variables()}), indent=2).decode(),
                "json",
            ),
        ),
        "`attach`, but not in Jupyter.",
    )


def _airflow(target: Target) -> Platform:
    variables = msgspec.json.format(msgspec.json.encode(target.variables()), indent=0).decode()
    return Platform(
        "airflow",
        "Airflow",
        (
            _INSTALL,
            Step(
                "Client mode: variables of the operator. For other modes set what `--for yarn` or `--for kubernetes` prints in its `conf`.",
                "SparkSubmitOperator(\n"
                '    task_id="job",\n    application="job.py",\n'
                f"    env_vars={variables},\n)\n"
                "BashOperator(\n"
                '    task_id="job",\n    bash_command="spark-submit job.py",\n    append_env=True,\n'
                f"    env={variables},\n)",
                "python",
            ),
        ),
        "the variables, with spark-submit; not the operators with them.",
    )


def _dagster(target: Target) -> Platform:
    variables = msgspec.json.format(msgspec.json.encode(target.variables()), indent=0).decode()
    return Platform(
        "dagster",
        "Dagster",
        (
            _INSTALL,
            Step(
                "An asset that starts a program: its environment.",
                "PipesSubprocessClient().run(\n"
                '    context=context,\n    command=["spark-submit", "job.py"],\n'
                f"    env={variables},\n).get_results()",
                "python",
            ),
            Step("An asset that makes the session itself.", _in_code(target), "python"),
        ),
        "not in Dagster. The call is as in its documentation of Pipes.",
    )


_PLATFORMS = {
    "submit": _submit,
    "standalone": _standalone,
    "yarn": _yarn,
    "kubernetes": _kubernetes,
    "databricks": _databricks,
    "emr": _emr,
    "dataproc": _dataproc,
    "glue": _glue,
    "connect": _connect,
    "notebook": _notebook,
    "airflow": _airflow,
    "dagster": _dagster,
}
NAMES = tuple(_PLATFORMS)
