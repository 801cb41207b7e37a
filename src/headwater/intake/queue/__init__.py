"""Events out of RabbitMQ, and the dead letters."""
