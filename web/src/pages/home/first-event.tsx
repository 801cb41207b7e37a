// An empty installation: three ways to the first event, and a watch for it (the status is asked again meanwhile).
import { Command } from "../../parts/message.tsx";
import { Section } from "../../parts/page.tsx";

export function FirstEvent() {
  const here = document.baseURI.replace(/\/$/, "");
  return (
    <Section title="Three ways to the first event" beside="This page shows it as soon as it arrives.">
      <ol className="ways">
        <li>
          <strong>Run a package</strong>
          <p>The client reports what each step reads and writes.</p>
          <Command text={`HEADWATER_URL=${here} headwater run PACKAGE`} />
        </li>
        <li>
          <strong>Point an OpenLineage producer here</strong>
          <p>Spark, Airflow, dbt and Flink have one.</p>
          <Command text={`export OPENLINEAGE_URL=${here}`} />
        </li>
        <li>
          <strong>Send one event by hand</strong>
          <p>To see that it gets through.</p>
          <Command
            text={`curl -X POST ${here}/api/v1/lineage -H 'content-type: application/json' -d '{"eventType":"COMPLETE","eventTime":"${new Date().toISOString()}","producer":"by-hand","run":{"runId":"${crypto.randomUUID?.() ?? "01990000-0000-7000-8000-000000000001"}"},"job":{"namespace":"try","name":"first"},"inputs":[{"namespace":"file","name":"/in"}],"outputs":[{"namespace":"file","name":"/out"}]}'`}
          />
        </li>
      </ol>
    </Section>
  );
}
