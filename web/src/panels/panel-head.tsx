// The head of a panel: what it is, where it lives, what is said about it.
import { Button } from "@mantine/core";
import type { ReactNode } from "react";
import type { Owner } from "../api/types.ts";
import { navigate, useUrl } from "../url.ts";
import { CloseButton } from "./close-button.tsx";

interface Props {
  id: string;
  label: string;
  kind: string;
  namespace: string;
  name: string;
  description: string | null;
  tags: readonly string[];
  owners: readonly Owner[];
  children?: ReactNode;
}

export function PanelHead(props: Props) {
  const { node } = useUrl();
  return (
    <header className="panel-head">
      <div className="buttons">
        {node !== props.id && (
          <Button
            size="compact-xs"
            variant="light"
            h={30}
            onClick={() => navigate({ node: props.id, selected: props.id, field: null })}
          >
            Start here
          </Button>
        )}
        <CloseButton />
      </div>
      <h2 className="name wraps">{props.label}</h2>
      <div className="where name wraps">{props.namespace}</div>
      <div className="where name wraps">{props.name}</div>
      {props.description && <p>{props.description}</p>}
      {props.tags.length > 0 && (
        <div className="tags">
          {props.tags.map((tag) => (
            <span className="tag" key={tag} title={tag}>
              {tag}
            </span>
          ))}
        </div>
      )}
      <dl className="facts">
        {props.owners.length > 0 && (
          <>
            <dt>Owners</dt>
            <dd>{props.owners.map((o) => (o.type ? `${o.name} (${o.type})` : o.name)).join(", ")}</dd>
          </>
        )}
        {props.children}
      </dl>
    </header>
  );
}
