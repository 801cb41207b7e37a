"""The error of a failed program, from the end of its stderr: the line that names it, and the trace that explains it.

Without a Python error it is the last line; without any line, the exit code.
"""

import re
import signal

_ERROR_LINE = re.compile(r"^[A-Za-z_][\w.]*(Error|Exception|Exit|Interrupt|Warning|Failure|Iteration|NotFound)\b")
_GROUP_LINE = re.compile(r"^\s*\|\s*((?:Base)?ExceptionGroup: .*)")
_TRACE = "Traceback (most recent call last):"
_TRACE_CHARACTERS = 16_000
# These signals mean that the program itself failed; any other stopped it from outside.
_CRASHES = frozenset(
    getattr(signal, name)
    for name in ("SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGABRT", "SIGSYS", "SIGTRAP")
    if hasattr(signal, name)
)


def message_and_trace(stderr: str, exit_code: int) -> tuple[str, str | None]:
    """Return the error in one line, and the bounded trace."""
    lines = stderr.rstrip().splitlines()
    message, start = _find_error(lines)
    if message is None:
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return (last[:1000] or f"the program ended with exit code {exit_code}"), _bounded(lines)
    return message[:1000], _bounded(lines[start:])


def signal_name(number: int) -> str:
    """`SIGTERM` for 15."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def signal_message(number: int) -> str:
    """Describe the end of a program by a signal."""
    hint = " (out of memory, or a kill -9)" if number == signal.SIGKILL else ""
    return f"ended by {signal_name(number)}{hint}"


def is_crash(number: int) -> bool:
    """Return whether a signal means that the program itself failed and was not stopped."""
    return number in _CRASHES


def _find_error(lines: list[str]) -> tuple[str | None, int]:
    """Find the error's line and the beginning of its trace. The last trace counts; later log lines do not."""
    traces = [index for index, line in enumerate(lines) if line.startswith(_TRACE)]
    if traces:
        # "During handling of the above exception": the whole chain belongs together, its last error is the message.
        start = traces[-1]
        while len(traces) > 1 and any("above exception" in line for line in lines[traces[-2] : start]):
            traces.pop()
            start = traces[-1]
        last = max(index for index, line in enumerate(lines) if line.startswith(_TRACE))
        for line in lines[last + 1 :]:
            if line and not line.startswith((" ", "\t")):
                return line.strip(), start
    for index, line in enumerate(lines):
        if group := _GROUP_LINE.match(line):  # its own line comes first, its members follow
            return group[1], max(0, index - 5)
    for index in range(len(lines) - 1, -1, -1):
        if _ERROR_LINE.match(lines[index]):  # a SyntaxError has no Traceback line
            return lines[index].strip(), max(0, index - 5)
    return None, 0


def _bounded(lines: list[str]) -> str | None:
    text = "\n".join(lines)
    if len(text) <= _TRACE_CHARACTERS:
        return text or None
    half = _TRACE_CHARACTERS // 2
    return f"{text[:half]}\n… {len(text) - 2 * half} characters left out …\n{text[-half:]}"
