"""The server's access to RabbitMQ."""

from importlib.util import find_spec

from headwater.settings import Settings


def is_configured(settings: Settings) -> bool:
    """Return whether the server is given a broker and can talk to it."""
    return settings.amqp.url is not None and find_spec("aio_pika") is not None
