import { tokenSecretNamespace, tokenSecretType } from "../../trust/token-secret.ts";
import { secrets } from "../kinds.ts";
import type { Selection } from "../shared-informers.ts";

/** The Secrets that hold bootstrap tokens. */
export const tokenSecretSelection: Selection = {
  resource: secrets,
  namespace: tokenSecretNamespace,
  fieldSelector: `type=${tokenSecretType}`,
};
