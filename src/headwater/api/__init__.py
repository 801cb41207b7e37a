"""HTTP: routes, wire shapes, the page. Translates and decides nothing; app.py is the composition root."""
