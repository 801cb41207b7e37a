import { Empty } from "../../parts/message.tsx";
import { CountedBy } from "./people.tsx";

export function Tags() {
  return (
    <CountedBy
      facet="tag"
      none={
        <Empty title="Nothing is tagged yet" command="headwater tag DATASET pii">
          Tags come from events, or from people: on a dataset's page, or by this command.
        </Empty>
      }
    />
  );
}
