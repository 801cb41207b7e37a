// Before the first answer of the server: one message for the whole page, where every part would say the same. To sign in, or to wait.
import { Button } from "@mantine/core";
import { useState } from "react";
import { ApiError } from "../api/client.ts";
import { useSend, useSignIn } from "../api/queries.ts";
import { Trouble } from "../parts/message.tsx";
import { Refused } from "../parts/refused.tsx";

export function Gate({ error, retry }: { error: Error; retry(): void }) {
  return (
    <main className="stage">
      {error instanceof ApiError && error.status === 401 ? (
        <SignIn error={error} />
      ) : (
        <Trouble error={error} retry={retry} />
      )}
    </main>
  );
}

/** With the identity provider where there is one, and with a key of this server. */
function SignIn({ error }: { error: ApiError }) {
  const provider = useSignIn(error);
  const send = useSend("post", "/auth/key");
  const [key, setKey] = useState("");
  return (
    <div className="message sign-in">
      <h2>Sign in to see this</h2>
      {provider.data && (
        <>
          <Button component="a" href={provider.data}>
            Sign in
          </Button>
          <p className="soft">or with a key of this server:</p>
        </>
      )}
      <form
        className="add"
        onSubmit={(event) => {
          event.preventDefault();
          // All that was asked is asked again, now as this person.
          send.mutate({ body: { key } }, { onSuccess: () => setKey("") });
        }}
      >
        <input
          type="password"
          aria-label="Key"
          placeholder="hw_…"
          autoComplete="current-password"
          value={key}
          onChange={(event) => setKey(event.currentTarget.value)}
        />
        <button type="submit" className="button" disabled={key.trim() === "" || send.isPending}>
          Sign in with a key
        </button>
      </form>
      <Refused error={send.error} />
      <p className="soft">
        An admin makes keys in the settings, or with <code>headwater server keys create NAME --role read</code>.
      </p>
    </div>
  );
}
