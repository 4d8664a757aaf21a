import { decodeObject } from "../../apimachinery/decode.ts";
import { DecodeError } from "../../apimachinery/decode-error.ts";
import { invalidObject, notSupported } from "../../apimachinery/field-error.ts";
import { badRequest } from "../../apimachinery/status.ts";
import { publishedMeta } from "../../apis/schemas/published.ts";
import type { Deletion } from "../../registry/delete.ts";
import { parseBody, typeText, type RawBody } from "./decode-body.ts";
import type { Query } from "../http-types.ts";
import { countOf } from "../query-options.ts";
import { notRegistered } from "./undecodable.ts";

/** How something is to be deleted: from the body if there is one, else from the query. @throws StatusError BadRequest, Invalid. */
export async function deletionOf(
  raw: RawBody,
  query: Query,
): Promise<{ readonly options: Deletion; readonly dryRun: boolean }> {
  const { dryRun, ...options } = raw.bytes.length === 0 ? fromQuery(query) : await fromBody(raw);
  const asked = [...(dryRun ?? []), ...query.getAll("dryRun")].filter((value) => value !== "");
  if (asked.some((value) => value !== "All")) {
    throw invalidObject({ group: "meta.k8s.io", kind: "DeleteOptions" }, "", [notSupported("dryRun", asked, ["All"])]);
  }
  return { options, dryRun: asked.length > 0 };
}

type Options = Deletion & { readonly dryRun?: readonly string[] };

async function fromBody(raw: RawBody): Promise<Options> {
  const { value } = await parseBody(raw, () => publishedMeta("DeleteOptions"));
  const { apiVersion: _version, kind: _kind, ...fields } = value;
  const kind = typeText(value, "kind");
  if (kind !== "" && kind !== "DeleteOptions") {
    throw badRequest(notRegistered(kind, typeText(value, "apiVersion") || "v1"));
  }
  try {
    return decodeObject(publishedMeta("DeleteOptions"), fields).object;
  } catch (error) {
    if (error instanceof DecodeError) throw badRequest(error.message);
    throw error;
  }
}

function fromQuery(query: Query): Options {
  const grace = countOf(query, "gracePeriodSeconds");
  const policy = query.get("propagationPolicy");
  const orphan = query.get("orphanDependents");
  return {
    ...(grace === undefined ? {} : { gracePeriodSeconds: grace }),
    ...(policy === null || policy === "" ? {} : { propagationPolicy: policy }),
    ...(orphan === null || orphan === "" ? {} : { orphanDependents: orphan !== "false" && orphan !== "0" }),
  };
}
