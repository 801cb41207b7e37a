"""`headwater.step`: report a processing step with a `with` block or a decorator.

Use: docs/howto/steps.md; every argument: docs/reference/client.md. Never raises into the host and never waits:
a mistake in its arguments is one log line (`headwater.client.recording` records).
"""

import functools
import logging
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from types import TracebackType
from typing import Any, ParamSpec, TypeVar, cast, overload

import msgspec

from headwater.client import current
from headwater.client.context import Parent
from headwater.client.ending import message
from headwater.client.recording import Source, Step
from headwater.client.step_arguments import StepArguments

log = logging.getLogger("headwater")

__all__ = ["Step", "Steps", "carry", "current_step", "start_step", "step"]

P = ParamSpec("P")
R = TypeVar("R")

_IDLE = "none"


class Steps(AbstractContextManager[Step], AbstractAsyncContextManager[Step]):
    """The result of `headwater.step(…)`: a `with` or `async with` block, or a decorator. Every entry and every call is a separate step.

    A block's step is the current one inside. It completes with the block, fails with an exception (which propagates), and is aborted by
    KeyboardInterrupt, a cancelled task and `sys.exit` with another status than 0.
    """

    def __init__(self, given: StepArguments) -> None:
        self._given = given
        self._entered: list[Step] = []

    def __enter__(self) -> Step:
        step = _begun(self._given)
        self._entered.append(step)
        _quietly(current.enter, step)
        return step

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        step = self._left()
        try:
            step.end(error)
        finally:
            _quietly(current.leave, step)

    async def __aenter__(self) -> Step:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        """Exit as `__exit__` does; content is read in a thread, while other tasks run."""
        step = self._left()
        try:
            if error is None and step.unmeasured:
                import asyncio

                await asyncio.to_thread(step.measure)
            step.end(error)
        except BaseException as stopped:
            step.end(stopped)
            raise
        finally:
            _quietly(current.leave, step)

    @overload
    def __call__(self, function: Callable[P, R], /) -> Callable[P, R]: ...
    @overload
    def __call__(self, function: Any, /) -> Any: ...
    def __call__(self, function: Any, /) -> Any:
        """Decorate a function, a coroutine function or a generator function."""
        import inspect  # 5 ms, only for decorators

        given = self._given
        if not given.name:
            given = msgspec.structs.replace(given, name=getattr(function, "__name__", ""))
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def coroutine(*args: Any, **kwargs: Any) -> Any:
                async with Steps(given):
                    return await function(*args, **kwargs)

            return coroutine
        if inspect.isgeneratorfunction(function):

            @functools.wraps(function)
            def generator(*args: Any, **kwargs: Any) -> Any:
                return (yield from _driven(function(*args, **kwargs), given))

            return generator
        if inspect.isasyncgenfunction(function):
            raise TypeError(f"{function!r} is an async generator: use `async with headwater.step(…)` inside it")

        @functools.wraps(function)
        def plain(*args: Any, **kwargs: Any) -> Any:
            with Steps(given):
                return function(*args, **kwargs)

        return plain

    def _left(self) -> Step:
        """Return the step whose block ends: the current one, if it is of this object; its blocks nest."""
        here = current.exactly()
        step = next((each for each in reversed(self._entered) if each is here), self._entered[-1])
        self._entered.remove(step)
        return step


@overload
def step(name: Callable[P, R], /) -> Callable[P, R]: ...
@overload
def step(
    name: str = "",
    /,
    *,
    version: str | None = None,
    inputs: Iterable[Source] | Source = (),
    namespace: str | None = None,
    details: Mapping[str, object] | None = None,
    facets: Mapping[str, Mapping[str, Any]] | None = None,
    job_facets: Mapping[str, Mapping[str, Any]] | None = None,
    force: bool = False,
    parent: Step | Parent | None = None,
) -> Steps: ...
def step(name: Any = "", /, **told: Any) -> Any:
    """Create a processing step: `with headwater.step("split", inputs=[download]) as step:`, or `@headwater.step("split")`, or `@headwater.step`.

    `name` (a decorated function's own by default) and `namespace` are the job. `namespace` defaults to that of the outer step, else of the
    run that started this process, else `HEADWATER_NAMESPACE`, `OPENLINEAGE_NAMESPACE`, `default`. `version`: of the code. `inputs`: what it
    reads (`Step.input`). `details`: field → any JSON. `facets`, `job_facets`: OpenLineage facets of the run and the job, by name. `force`: import
    again what `step.once` reports as imported. `parent`: its run, if not the outer step or the run that started the process.
    """
    if callable(name):
        return Steps(_step_arguments("", told))(name)
    return Steps(_step_arguments(name, told))


def start_step(
    name: str,
    /,
    *,
    version: str | None = None,
    inputs: Iterable[Source] | Source = (),
    namespace: str | None = None,
    details: Mapping[str, object] | None = None,
    facets: Mapping[str, Mapping[str, Any]] | None = None,
    job_facets: Mapping[str, Mapping[str, Any]] | None = None,
    force: bool = False,
    parent: Step | Parent | None = None,
) -> Step:
    """Start a step without a block: end it with `complete()`, `fail(error)` or `abort()`. It is not the current step: pass it on explicitly.

    A step that is still open when the program ends is aborted.
    """
    return _begun(
        _step_arguments(
            name,
            {
                "version": version,
                "inputs": inputs,
                "namespace": namespace,
                "details": details,
                "facets": facets,
                "job_facets": job_facets,
                "force": force,
                "parent": parent,
            },
        )
    )


def current_step() -> Step:
    """Return the innermost step around this code: of this task or thread, else of the process (see `headwater.client.current`).

    Without one it returns a step that is false and records nothing, so a function can use its step without knowing
    whether it is in one.
    """
    found = current.own()
    return found if isinstance(found, Step) else _idle()


def carry(function: Callable[P, R], /) -> Callable[P, R]:
    """Return the function with the present step as its current one, wherever it is called: `pool.map(headwater.carry(load), files)`."""
    step = current.own()

    @functools.wraps(function)
    def carried(*args: P.args, **kwargs: P.kwargs) -> R:
        before = current.swap(step)
        try:
            return function(*args, **kwargs)
        finally:
            current.swap(before)

    return carried


_IDLE_GIVEN = StepArguments(name=_IDLE)


def _idle() -> Step:
    return Step(_IDLE_GIVEN, idle=True)


def _step_arguments(name: Any, told: Mapping[str, Any]) -> StepArguments:
    given = dict(told)
    inputs = given.pop("inputs", ())
    one = isinstance(inputs, str | bytes | Mapping) or not isinstance(inputs, Iterable) or _is_dataset(inputs)
    return StepArguments(name=name, inputs=(inputs,) if one else tuple(inputs), **given)


def _is_dataset(inputs: object) -> bool:
    """Return whether `inputs=("postgres://db:5432", "meter.public.readings")` is one dataset and not two paths: a server alone is not a dataset."""
    if not (isinstance(inputs, tuple) and len(inputs) == 2 and all(isinstance(part, str) for part in inputs)):
        return False
    _, scheme, server = inputs[0].partition("://")
    return bool(scheme and server) and "/" not in server and "://" not in inputs[1]


def _begun(given: StepArguments) -> Step:
    try:
        around = current.own()
        return Step(given, around if isinstance(around, Step) else None)
    except Exception as error:  # noqa: BLE001 - the host must not notice
        log.warning("a step is not recorded: %s", message(error)[0])
        return _idle()


def _quietly(change: Callable[[Step], None], step: Step) -> None:
    try:
        change(step)
    except Exception as error:  # noqa: BLE001 - the host must not notice
        log.warning("step %s could not be made the current one everywhere: %s", step.name, message(error)[0])


def _driven(generator: Any, given: StepArguments) -> Any:
    """Run a generator inside a step that is the current one while it runs, and not while its caller does."""
    running = _begun(given)
    send, value = generator.send, None
    try:
        while True:
            before = current.swap(running)
            try:
                made = send(value)
            finally:
                current.swap(before)
            try:
                value = yield made
                send = generator.send
            except GeneratorExit:
                generator.close()
                raise
            except BaseException as error:  # noqa: BLE001 - thrown in by the caller, for the generator to deal with
                send, value = generator.throw, cast(Any, error)
    except StopIteration as ended:
        running.complete()
        return ended.value
    except BaseException as error:
        running.end(error)
        raise
