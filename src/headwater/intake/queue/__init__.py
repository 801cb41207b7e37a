"""Receive events from RabbitMQ, and manage dead letters."""
