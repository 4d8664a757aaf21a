import { ignoreReasons } from "../../client/api-errors.ts";
import { secrets } from "../../controllers/kinds.ts";
import { requireTokenId } from "../../trust/token.ts";
import { tokenSecretName, tokenSecretNamespace } from "../../trust/token-secret.ts";
import type { Args } from "../command.ts";
import type { ExitName } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { withServer } from "../server-access.ts";

/**
 * Deletes the named tokens in order; all names are checked before the first is deleted. One that is not there does not keep the others
 * from being deleted.
 */
export async function tokenDelete(args: Args, io: Io): Promise<ExitName> {
  const ids = args.operands.map(requireTokenId);
  return withServer<ExitName>(args, io, async ({ client }) => {
    let exit: ExitName = "ok";
    for (const id of new Set(ids)) {
      const token = `bootstrap token ${JSON.stringify(id)}`;
      const key = { namespace: tokenSecretNamespace, name: tokenSecretName(id) };
      const deleted = client.delete(secrets, key).then(() => true);
      if (await ignoreReasons(deleted, "NotFound")) io.stdout.write(`${token} deleted\n`);
      else {
        io.stderr.write(`error: ${token} not found\n`);
        exit = "notFound";
      }
    }
    return exit;
  });
}
