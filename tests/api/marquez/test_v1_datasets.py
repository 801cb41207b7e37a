"""Datasets and their versions."""

from typing import Any

from tests.events import RUN, columns, dataset, encoded, facet, run_event, schema

FILE = "/api/v1/namespaces/file/datasets"


def send(client: Any, *events: dict[str, Any]) -> None:
    for event in events:
        assert client.post("/api/v1/lineage", encoded(event)).status_code == 201


KEYS = {
    "id", "type", "name", "physicalName", "createdAt", "updatedAt", "namespace", "sourceName", "fields", "tags", "lastModifiedAt",
    "lastLifecycleState", "description", "currentVersion", "columnLineage", "facets", "deleted",
}  # fmt: skip
VERSION_KEYS = {
    "id", "type", "name", "physicalName", "createdAt", "version", "namespace", "sourceName", "fields", "tags", "lifecycleState",
    "description", "currentSchemaVersion", "createdByRun", "facets",
}  # fmt: skip


def test_a_dataset_has_all_of_marquez_keys(client: Any) -> None:
    out = dataset(
        "/out",
        **schema("a", "b"),
        documentation=facet(description="what it is"),
        dataSource=facet(name="disk", uri="file"),
        lifecycleStateChange=facet(lifecycleStateChange="OVERWRITE"),
        tags=facet(tags=[{"key": "gold", "value": "true"}, {"key": "PII", "value": "true", "field": "b"}]),
        **columns({"a": [("/in", "x", "DIRECT:IDENTITY")]}),
    )
    send(client, run_event("COMPLETE", 1, "j", ["/in"], [out], at="2026-01-01T10:00:00.120Z"))
    one = client.get(f"{FILE}/%2Fout").json()
    assert one.keys() == KEYS
    assert one["id"] == {"namespace": "file", "name": "/out"}
    assert (one["type"], one["sourceName"], one["description"]) == ("DB_TABLE", "disk", "what it is")
    assert one["createdAt"] == one["updatedAt"] == one["lastModifiedAt"] == "2026-01-01T10:00:00.120Z"
    assert one["fields"] == [
        {"name": "a", "type": "string", "tags": [], "description": None},
        {"name": "b", "type": "string", "tags": ["PII"], "description": None},
    ]
    assert (one["tags"], one["lastLifecycleState"], one["deleted"]) == (["gold"], "OVERWRITE", False)
    assert one["columnLineage"] == [
        {
            "name": "a",
            "inputFields": [
                {
                    "namespace": "file",
                    "dataset": "/in",
                    "field": "x",
                    "transformationDescription": None,
                    "transformationType": "IDENTITY",
                }
            ],
            "transformationDescription": None,
            "transformationType": "IDENTITY",
        }
    ]
    assert one["facets"].keys() == {
        "schema",
        "documentation",
        "dataSource",
        "lifecycleStateChange",
        "tags",
        "columnLineage",
    }
    version = client.get(f"{FILE}/%2Fout/versions/{one['currentVersion']}").json()
    assert version.keys() == VERSION_KEYS
    assert version["lifecycleState"] == "OVERWRITE"


def test_absent_values_are_null(client: Any) -> None:
    send(client, run_event("COMPLETE", 1, "j", ["/in"], []))
    one = client.get(f"{FILE}/%2Fin").json()
    for key in ("lastModifiedAt", "lastLifecycleState", "description", "columnLineage"):
        assert one[key] is None
    assert (one["fields"], one["tags"], one["facets"]) == ([], [], {})


def test_a_dropped_dataset_is_deleted_and_still_there(client: Any) -> None:
    gone = dataset("/out", lifecycleStateChange=facet(lifecycleStateChange="DROP"))
    send(client, run_event("COMPLETE", 1, "j", [], [gone]))
    assert client.get(f"{FILE}/%2Fout").json()["deleted"] is True
    assert client.get(FILE).json()["totalCount"] == 1


def test_streams_are_known_by_namespace_or_facet_and_say_where_their_schema_is(client: Any) -> None:
    topic, view = dataset("t", "kafka://b:9092"), dataset("/v", datasetType=facet(datasetType="TOPIC"))
    table = dataset("w", "kafka://b:9092", datasetType=facet(datasetType="TABLE"))
    send(client, run_event("COMPLETE", 1, "j", [topic, view, table], []))
    shown = client.get("/api/v1/namespaces/kafka%3A%2F%2Fb%3A9092/datasets/t").json()
    assert (shown["type"], shown["schemaLocation"]) == ("STREAM", None)
    assert client.get(f"{FILE}/%2Fv").json()["type"] == "STREAM"
    assert "schemaLocation" not in client.get("/api/v1/namespaces/kafka%3A%2F%2Fb%3A9092/datasets/w").json()


def test_a_page_counts_all_and_has_facets_on_every_row_in_as_many_statements(client: Any, statements: Any) -> None:
    send(client, *(run_event("COMPLETE", i, "j", [], [dataset(f"/d{i:02}", **schema("a"))]) for i in range(30)))
    with statements() as few:
        client.get(FILE, limit=2)
    with statements() as many:
        reply = client.get(FILE).json()
    assert len(many) == len(few) <= 12
    assert reply["totalCount"] == 30
    assert [one["name"] for one in reply["datasets"]] == [f"/d{i:02}" for i in range(30)]
    assert all("schema" in one["facets"] and one["fields"] for one in reply["datasets"])
    assert [one["name"] for one in client.get(FILE, limit=2, offset=3).json()["datasets"]] == ["/d03", "/d04"]
    assert client.get(FILE, limit=0).json() == {"datasets": [], "totalCount": 30}


def test_a_dataset_with_several_names_is_listed_once_and_answers_to_each(client: Any) -> None:
    link = facet(identifiers=[{"namespace": "hive://h", "name": "db.t", "type": "TABLE"}])
    send(client, run_event("COMPLETE", 1, "j", [], [dataset("/t", symlinks=link, **schema("a"))]))
    assert client.get(FILE).json()["totalCount"] == 1
    assert client.get("/api/v1/namespaces/hive%3A%2F%2Fh/datasets").json() == {"datasets": [], "totalCount": 0}
    by_other = client.get("/api/v1/namespaces/hive%3A%2F%2Fh/datasets/db.t").json()
    assert by_other == client.get(f"{FILE}/%2Ft").json()
    assert by_other["name"] == "/t"
    version = by_other["currentVersion"]
    assert client.get(f"/api/v1/namespaces/hive%3A%2F%2Fh/datasets/db.t/versions/{version}").status_code == 200


def test_what_is_not_there_is_said_as_marquez_says_it(client: Any) -> None:
    send(client, run_event("COMPLETE", 1, "j", [], ["/a", "/b"]))
    for path, message in {
        f"{FILE}/nope": "Dataset 'nope' not found.",
        f"{FILE}/nope/versions": "Dataset 'nope' not found.",
        "/api/v1/namespaces/none/datasets": "Namespace 'none' not found.",
        "/api/v1/namespaces/none/datasets/x": "Namespace 'none' not found.",
        f"{FILE}/%2Fa/versions/{RUN.format(7)}": f"Dataset version '{RUN.format(7)}' not found.",
        f"{FILE}/%2Fa/versions/abc": "Dataset version 'abc' not found.",
    }.items():
        reply = client.get(path)
        assert (reply.status_code, reply.json()) == (404, {"code": 404, "message": message}), path
    other = client.get(f"{FILE}/%2Fb").json()["currentVersion"]
    assert client.get(f"{FILE}/%2Fa/versions/{other}").status_code == 404


def test_versions_newest_first_with_their_runs_schemas_and_facets(client: Any) -> None:
    for day, names in enumerate((["a"], ["a"], ["a", "b"]), start=1):
        out = dataset("/out", **schema(*names), documentation=facet(description=f"day {day}"))
        out["outputFacets"] = {"outputStatistics": facet(rowCount=day)}
        send(client, run_event("COMPLETE", day, "j", ["/in"], [out], at=f"2026-01-0{day}T00:00:00Z"))
    reply = client.get(f"{FILE}/%2Fout/versions").json()
    assert reply["totalCount"] == 3
    assert [one["createdAt"][:10] for one in reply["versions"]] == ["2026-01-03", "2026-01-02", "2026-01-01"]
    assert [one["description"] for one in reply["versions"]] == ["day 3", "day 2", "day 1"]
    assert [len(one["fields"]) for one in reply["versions"]] == [2, 1, 1]
    newest, middle, oldest = reply["versions"]
    assert middle["currentSchemaVersion"] == oldest["currentSchemaVersion"] != newest["currentSchemaVersion"]
    assert len({one["version"] for one in reply["versions"]}) == 3
    assert newest["createdByRun"]["id"] == RUN.format(3)
    made = newest["createdByRun"]["outputDatasetVersions"][0]
    assert made["datasetVersionId"] == {"namespace": "file", "name": "/out", "version": newest["version"]}
    assert made["facets"]["outputStatistics"]["rowCount"] == 3
    assert [
        one["createdAt"][:10] for one in client.get(f"{FILE}/%2Fout/versions", limit=1, offset=1).json()["versions"]
    ] == ["2026-01-02"]
    for one in reply["versions"]:
        assert client.get(f"{FILE}/%2Fout/versions/{one['version']}").json() == one


def test_a_source_without_a_writer_has_one_version_that_its_readers_point_at(client: Any) -> None:
    send(client, run_event("COMPLETE", 1, "j", [dataset("/in", **schema("a"))], []))
    one = client.get(f"{FILE}/%2Fin").json()
    reply = client.get(f"{FILE}/%2Fin/versions").json()
    assert reply["totalCount"] == 1
    (version,) = reply["versions"]
    assert (version["version"], version["createdByRun"]) == (one["currentVersion"], None)
    assert [field["name"] for field in version["fields"]] == ["a"]
    assert client.get(f"{FILE}/%2Fin/versions", offset=1).json() == {"versions": [], "totalCount": 1}
    run = client.get(f"/api/v1/jobs/runs/{RUN.format(1)}").json()
    assert run["inputDatasetVersions"][0]["datasetVersionId"]["version"] == version["version"]
    assert client.get(f"{FILE}/%2Fin/versions/{version['version']}").json() == version


def test_versions_told_without_a_run_keep_the_facets_they_had(client: Any) -> None:
    for day, name in ((1, "a"), (2, "b")):
        send(
            client,
            {
                "eventTime": f"2026-01-0{day}T00:00:00Z",
                "producer": "https://example.test",
                "dataset": dataset("/t", **schema(name), documentation=facet(description=f"day {day}")),
            },
        )
    versions = client.get(f"{FILE}/%2Ft/versions").json()["versions"]
    assert [(one["createdByRun"], one["description"], one["fields"][0]["name"]) for one in versions] == [
        (None, "day 2", "b"),
        (None, "day 1", "a"),
    ]


def test_names_of_any_length(client: Any) -> None:
    """Marquez refuses or confuses names over 255 characters. Up to 1,200 bytes they are kept whole; longer ones answer by their whole name."""
    for length in (1100, 5000):
        long = "/" + "x" * length
        send(client, run_event("COMPLETE", length, "j" * length, [], [long], namespace="n" * length))
        found = client.get(f"{FILE}/%2F{'x' * length}")
        assert found.status_code == 200
        assert (found.json()["name"] == long) == (length <= 1200)
        assert found.json()["name"].startswith("/" + "x" * 1000)
        job = client.get(f"/api/v1/namespaces/{'n' * length}/jobs/{'j' * length}")
        assert job.status_code == (200 if length <= 1200 else 301)
