"""Execute a notebook in a real kernel: cells on standard input, the outputs of each on standard output, both as JSON."""

import json
import sys

import nbformat
from nbclient import NotebookClient

cells = [nbformat.v4.new_code_cell(text) for text in json.load(sys.stdin)]
notebook = nbformat.v4.new_notebook(cells=cells)
NotebookClient(notebook, timeout=120, kernel_name="python3", allow_errors=True).execute()
json.dump([cell["outputs"] for cell in notebook.cells], sys.stdout)
