import type { Client, ResourceRef } from "../../client/client.ts";
import { StatusError } from "../../apimachinery/status.ts";
import {
  anonymousUser,
  authenticatedGroup,
  serviceAccountUser,
  unauthenticatedGroup,
  type UserInfo,
} from "../../apimachinery/user.ts";
import { accessExplanations, selfAccessExplanations, type AccessExplanation } from "../../apis/access-explanation.ts";
import { askedOf } from "./asked-action.ts";
import type { Args, Run } from "../command.ts";
import { explainFromOutside, specOf, type Explained, type Question } from "./explain-from-outside.ts";
import { writeResult } from "../output.ts";
import { withServer, type ServerAccess } from "../server-access.ts";
import { whyText } from "./why-text.ts";
import { usageError } from "../cli-error.ts";

/** Runs `pratique why`. */
export const why: Run = async (args, io) => {
  const user = askedUser(args);
  return withServer(args, io, async (server) => {
    const { attributes: action, isMistyped, kinds } = await askedOf(args, io, server);
    const answer = await explain({ action, user, kinds }, server);
    // A hub suggests no similar words to callers who ask about themselves.
    const explained = isMistyped ? { ...answer, status: { ...answer.status, toAllow: [] } } : answer;
    await writeResult(args, io, {
      data: {
        apiVersion: `${accessExplanations.group}/${accessExplanations.version}`,
        kind: user === undefined ? selfAccessExplanations.kind : accessExplanations.kind,
        spec: specOf(action, user),
        ...explained,
      },
      table: () => whyText({ action, user, ...explained }),
    });
    return explained.status.allowed ? "ok" : "failed";
  });
};

async function explain(question: Question, server: ServerAccess): Promise<Explained> {
  const { action, user } = question;
  const resource = user === undefined ? selfAccessExplanations : accessExplanations;
  const review = await ifServed(server.client, resource, specOf(action, user));
  if (typeof review === "object") {
    const status = review.status ?? { allowed: false };
    return { status, source: { verdict: resource.kind, rights: "the server" } };
  }
  const { status, source } = await explainFromOutside(question, server);
  if (review === "not served") return { status, source };
  const note = `You may not create ${resource.plural}.${resource.group} here, so the server's own trace is not shown.`;
  return { status: { ...status, notes: [...(status.notes ?? []), note] }, source };
}

/** Where the kind is not known, a server rejects it as forbidden for most callers, and as not found for the rest. */
async function ifServed(
  client: Client,
  resource: ResourceRef,
  spec: object,
): Promise<AccessExplanation | "not served" | "refused"> {
  const { group, version, kind } = resource;
  try {
    return await client.create<AccessExplanation>(resource, {
      apiVersion: `${group}/${version}`,
      kind,
      metadata: {},
      spec,
    });
  } catch (error) {
    if (error instanceof StatusError && error.code === 404) return "not served";
    if (error instanceof StatusError && error.code === 403) return "refused";
    throw error;
  }
}

/** The user of --as, with the groups that authentication adds; undefined without --as. @throws CliError usage */
function askedUser(args: Args): UserInfo | undefined {
  const username = args.text("as") ?? "";
  const groups = args.list("as-group");
  const uid = args.text("as-uid");
  if (username === "" && groups.length === 0) {
    if (uid !== undefined) throw usageError("--as-uid goes with --as");
    return undefined;
  }
  return {
    username,
    ...(uid === undefined ? {} : { uid }),
    groups: [...new Set([...groups, ...addedGroups(username, groups)])],
  };
}

/** As impersonation does. Source: apiserver endpoints/filters WithImpersonation. */
function addedGroups(username: string, given: readonly string[]): readonly string[] {
  if (username === anonymousUser) return [unauthenticatedGroup];
  const [, , namespace = "", name = ""] = username.startsWith("system:serviceaccount:") ? username.split(":") : [];
  if (name !== "" && given.length === 0) return serviceAccountUser(namespace, name).groups;
  return given.includes(unauthenticatedGroup) ? [] : [authenticatedGroup];
}
