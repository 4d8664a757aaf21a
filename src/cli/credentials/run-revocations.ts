import { humanDuration } from "../../apimachinery/duration.ts";
import { StatusError } from "../../apimachinery/status.ts";
import { credentialRevocations, revokedText, type CredentialRevocation } from "../../apis/credential-revocation.ts";
import { CliError } from "../cli-error.ts";
import type { Args } from "../command.ts";
import type { ExitName } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { writeResult } from "../output.ts";
import { withServer } from "../server-access.ts";
import { parsedJson } from "../../client/replies.ts";
import { stringAt } from "../../apis/json-fields.ts";

/** Prints what is revoked, or the list of it that the server signs, or adds what such a list holds. @throws CliError, StatusError */
export async function runRevocations(args: Args, io: Io): Promise<ExitName> {
  const [action, file] = args.operands;
  if (action === "import") return (await import("./import-list.ts")).importList(args, io);
  if (file !== undefined) throw new CliError("usage", `revocations ${action} takes no file`);
  return action === "export" ? exportRevocations(args, io) : listRevocations(args, io);
}

/** The newest first. */
async function listRevocations(args: Args, io: Io): Promise<ExitName> {
  return withServer<ExitName>(args, io, async ({ client }) => {
    const { items } = await client.list<CredentialRevocation>(credentialRevocations);
    const sorted = items.toSorted((one, other) => createdAt(other) - createdAt(one));
    const now = io.clock.now();
    await writeResult(args, io, {
      data: sorted.map(({ metadata, spec, status }) => ({ name: metadata.name, ...spec, ...status })),
      table: () =>
        sorted.length === 0
          ? "nothing is revoked\n"
          : {
              headings: ["NAME", "REVOKES", "BY", "REASON", "ENDS", "AGE"],
              rows: sorted.map((one) => [
                one.metadata.name ?? "",
                revokedText(one),
                one.status?.revokedBy ?? "<unknown>",
                one.spec.reason ?? "<none>",
                one.spec.expiresAt ?? "<never>",
                humanDuration(now - createdAt(one)),
              ]),
            },
    });
    return "ok";
  });
}

function createdAt({ metadata }: CredentialRevocation): number {
  return Date.parse(metadata.creationTimestamp ?? "");
}

async function exportRevocations(args: Args, io: Io): Promise<ExitName> {
  return withServer<ExitName>(args, io, async ({ client }) => {
    const path = args.text("format") === "crl" ? "/revocations/crl" : "/revocations";
    const { status, body } = await client.raw("GET", path);
    if (status === 200) {
      io.stdout.write(body.toString("utf8"));
      return "ok";
    }
    if (status === 404) throw new CliError("notFound", "this server signs no list of revocations; a hub does");
    if (status === 401) throw new StatusError("Unauthorized", "Unauthorized");
    throw new CliError(
      status === 403 ? "refused" : "failed",
      stringAt(parsedJson(body), "message") || `the server answered ${status}`,
    );
  });
}
