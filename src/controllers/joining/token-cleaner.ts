import { sameUid } from "../object-status.ts";
import type { ControllerOptions, Selection } from "../shared-informers.ts";
import type { ObjectKey } from "../../apimachinery/object.ts";
import { tokenLifetime } from "../../trust/token-rules.ts";
import { hasReason } from "../../client/api-errors.ts";
import { done, type Controller, type Outcome, referenceTo } from "../controller.ts";
import { secrets } from "../kinds.ts";
import { tokenSecretNamespace, tokenSecretType } from "../../trust/token-secret.ts";

const serviceAccount = "token-cleaner";

/** Deletes bootstrap tokens when they expire; one whose expiration cannot be read counts as expired. Source: Kubernetes pkg/controller/bootstrap. */
export function tokenCleaner(options: ControllerOptions): Controller {
  const { clock } = options;
  const { client, reader } = options.informers.as(serviceAccount);
  const tokens = reader(tokenSecretSelection);

  async function reconcile(key: ObjectKey): Promise<Outcome> {
    const secret = tokens.get(key);
    if (secret === undefined) return done;
    const life = tokenLifetime(secret, clock.now());
    if (life.kind === "forever") return done;
    if (life.kind === "expires") return { kind: "requeue", afterMs: life.afterMs, why: "not expired yet" };
    try {
      await client.delete(secrets, key, sameUid(secret));
    } catch (error) {
      if (!hasReason(error, "NotFound", "Conflict")) throw error;
      return done;
    }
    const about = referenceTo(secrets, secret);
    return { kind: "done", reports: [{ reason: "BootstrapTokenExpired", about, message: "bootstrap token expired" }] };
  }

  return {
    name: "tokencleaner",
    serviceAccount,
    watches: [tokenSecretSelection],
    concurrency: 4,
    reconcile,
  };
}

/** The Secrets that hold bootstrap tokens. */
export const tokenSecretSelection: Selection = {
  resource: secrets,
  namespace: tokenSecretNamespace,
  fieldSelector: `type=${tokenSecretType}`,
};
