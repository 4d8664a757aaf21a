import type { Client } from "../../client/client.ts";
import { StatusError } from "../../apimachinery/status.ts";
import { namespaces } from "../../apis/namespace.ts";
import type { Args } from "../command.ts";

/**
 * What to say where -n names a namespace that the server does not have: the answer is about that name all the same. Nothing where it
 * is there, or where the caller may not look.
 */
export async function namespaceWarnings(args: Args, asked: string, client: Client): Promise<readonly string[]> {
  if (asked === "" || args.text("namespace") !== asked) return [];
  try {
    await client.get(namespaces, { name: asked });
    return [];
  } catch (error) {
    if (!(error instanceof StatusError) || error.code !== 404) return [];
    return [`the server has no namespace "${asked}"`];
  }
}
