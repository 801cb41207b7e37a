// The review of a pull request, from the JSON that the command writes. All of it is in the address, behind the #, which no browser sends.
import { getRouteApi, useNavigate, useRouterState } from "@tanstack/react-router";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Answered } from "../../parts/answered.tsx";
import { Copy } from "../../parts/copy.tsx";
import { Empty } from "../../parts/message.tsx";
import { Page } from "../../parts/page.tsx";
import { WhatIfTabs } from "../whatif/tabs.tsx";
import { ReviewComment } from "./review-comment.tsx";
import { MOST_CHARACTERS, pack, readReview, unpack } from "./review.ts";

const route = getRouteApi("/review");

export function ReviewPage() {
  const { effect } = route.useSearch();
  const address = useRouterState({ select: (state) => state.location.hash });
  const review = useQuery({
    queryKey: ["review", address],
    queryFn: async () => readReview(await unpack(address)),
    enabled: address !== "",
    staleTime: Number.POSITIVE_INFINITY,
  });
  return (
    <Page
      title="Review"
      lede="What a pull request would break, as headwater review found it."
      tabs={<WhatIfTabs on="review" />}
      beside={address && <Copy text={window.location.href} what="the address" />}
    >
      <OpenReview />
      {address === "" ? (
        <Empty title="Open the JSON of a review" command="headwater review --base main --json > review.json">
          The review reads files, so it runs where they are. The file stays in this browser: the address holds it.
        </Empty>
      ) : (
        <Answered of={review} lines={8}>
          {(found) => <ReviewComment review={found} effect={effect} />}
        </Answered>
      )}
    </Page>
  );
}

function OpenReview() {
  const navigate = useNavigate({ from: "/review" });
  const [refused, setRefused] = useState<string | null>(null);
  const open = async (text: string) => {
    try {
      const address = await pack(JSON.stringify(readReview(text)));
      if (address.length > MOST_CHARACTERS)
        throw new Error("This review is too large for an address. Narrow it: name fewer folders to headwater review.");
      setRefused(null);
      await navigate({ search: (now) => ({ ...now, effect: undefined }), hash: address });
    } catch (error) {
      setRefused(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <div className="ask">
      <label>
        <span className="soft">The file, or its text: </span>
        <input
          type="file"
          accept="application/json,.json"
          aria-label="The review's file"
          onChange={(event) => {
            const file = event.currentTarget.files?.[0];
            if (file) void file.text().then(open);
          }}
        />
      </label>
      <textarea
        aria-label="The review's text"
        className="mono"
        rows={1}
        spellCheck={false}
        placeholder='{"severity": …'
        value=""
        onChange={(event) => void open(event.currentTarget.value)}
      />
      {refused && (
        <p className="refused" role="alert">
          {refused}
        </p>
      )}
    </div>
  );
}
