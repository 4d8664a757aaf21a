import { secrets } from "../../controllers/kinds.ts";
import { requireTokenId } from "../../trust/token.ts";
import { tokenSecretName, tokenSecretNamespace } from "../../trust/token-secret.ts";
import type { Args } from "../command.ts";
import type { ExitName } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { withServer } from "../server-access.ts";

/** Deletes the named tokens in order; all names are checked before the first is deleted. */
export async function tokenDelete(args: Args, io: Io): Promise<ExitName> {
  const ids = args.operands.map(requireTokenId);
  return withServer<ExitName>(args, io, async ({ client }) => {
    for (const id of new Set(ids)) {
      await client.delete(secrets, { namespace: tokenSecretNamespace, name: tokenSecretName(id) });
      io.stdout.write(`bootstrap token ${JSON.stringify(id)} deleted\n`);
    }
    return "ok";
  });
}
