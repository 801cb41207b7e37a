# Every target sets up what it needs; nothing is installed by hand.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
NODE_PATH := $(CURDIR)/$(VENV)/bin

.PHONY: help setup demo warehouse repair tour check test soak docs pictures fix lock web clean bench versus-entities lint-deploy
.DEFAULT_GOAL := help

help: ## what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 18

$(STAMP): scripts/setup scripts/java-shim requirements/uv.txt requirements/dev.txt requirements/java.txt requirements/node.txt pyproject.toml
	@scripts/setup $(PYTHON)
	@touch $@

setup: $(STAMP) ## the environment: Python, Java, Node

web: $(STAMP) ## build the web page into the package
	@scripts/build-web

demo: $(STAMP) web ## run the example on real data; ONCE=1 stops afterwards
	@scripts/demo

warehouse: $(STAMP) web ## a warehouse's query log, made and read; DAYS=28, ONCE=1 stops afterwards
	@scripts/warehouse

repair: $(STAMP) web ## ten wrong hours in the flights of make demo: exactly what used them, made again
	@scripts/repair

tour: $(STAMP) web ## one world of datasets, told five times, each answer checked
	@scripts/tour

check: $(STAMP) ## lint, types, layering, fast tests (about a minute)
	@scripts/test --check

test: $(STAMP) ## every check and the whole suite (some twenty minutes)
	@scripts/test

soak: $(STAMP) ## what takes hours: the suite's long versions, one by one; goes on where it was stopped
	@scripts/test --soak

pictures: $(STAMP) web ## take the pictures of the page in docs/images again, from the data of make demo
	@scripts/pictures

docs: $(STAMP) ## build the documentation site; SERVE=1 serves it while you write
	@scripts/docs $(if $(SERVE),serve)

fix: $(STAMP) ## format and repair what ruff can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lock: $(STAMP) ## write requirements/*.txt again from *.in
	@scripts/lock

lint-deploy: ## check deploy/: image, Compose file, Helm chart
	@scripts/lint-deploy

bench: $(STAMP) web ## every benchmark of benchmarks/RESULTS.md
	@scripts/bench

versus-entities: $(STAMP) ## what Dagster, SQLMesh and Airflow get wrong about partitions, asked of them and of Headwater
	$(BIN)/python benchmarks/versus/entities/run.py

clean: ## remove what was built (the environment too)
	rm -rf $(VENV) .demo .tools web/node_modules src/headwater/api/static/assets src/headwater/api/static/index.html
