"""Commands about RabbitMQ and the dead letters."""
