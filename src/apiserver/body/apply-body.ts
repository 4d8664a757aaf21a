import { DecodeError } from "../../apimachinery/decode-error.ts";
import { invalidObject, required } from "../../apimachinery/field-error.ts";
import { isJsonObject, type JsonObject } from "../../apimachinery/json-value.ts";
import { appliedProblem } from "../../apimachinery/managed-fields/check-applied.ts";
import { apiVersionOf, type ApiObject } from "../../apimachinery/object.ts";
import { StatusError, badRequest, conflict } from "../../apimachinery/status.ts";
import type { Steps } from "../../apimachinery/steps.ts";
import type { YamlDuplicate } from "../../serializer/yaml/bounded-yaml.ts";
import { YamlError } from "../../serializer/yaml/yaml-error.ts";
import { appliedTo } from "../../registry/managed-fields.ts";
import type { Resource, ShownAs } from "../../apis/resource.ts";
import { decodeTyped } from "../../registry/decode.ts";
import { textOf, typeText } from "./decode-body.ts";
import { flag } from "../http-types.ts";
import type { WriteOptions } from "../query-options.ts";
import { contextOf, shownAsOf, type Call } from "../resource-call.ts";
import { stepped, type Turn } from "../../registry/turns.ts";
import { yamlErrors, yamlLines } from "./undecodable.ts";
import { parseYamlBody, type YamlBody } from "../yaml.ts";

/** The media type of server-side apply; JSON is YAML. */
export const applyType = "application/apply-patch+yaml";

/** Applies to the stored object, or to none; `turn` is passed where that is much work. */
type Applier = (stored: ApiObject | undefined, turn: Turn | undefined) => ApiObject | Promise<ApiObject>;

/**
 * Reads the configuration of a server-side apply, and then creates the object from the stored one, or from none.
 * @throws StatusError Invalid without a fieldManager, BadRequest for what is not an object of this kind; the functions throw Conflict.
 */
export function applierOf(
  call: Call,
  options: WriteOptions,
): (bytes: Buffer, turn: Turn | undefined) => Promise<Applier> {
  const { query, resource, kind } = call;
  const { name, subresource } = call.info;
  const write = { resource, subresource, context: contextOf(call, options) };
  if ((query.get("fieldManager") ?? "") === "") {
    const missing = required("fieldManager", "is required for apply patch");
    throw invalidObject({ group: "meta.k8s.io", kind: "PatchOptions" }, "", [missing]);
  }
  const force = flag(query, "force");
  return async (bytes, large) => {
    if (large !== undefined) await large();
    const { value: config, duplicates } = await readConfig(textOf(bytes), call);
    checkKind(config, kind);
    const steps = function* (stored: ApiObject | undefined): Steps<ApiObject> {
      yield* checkFields(config, kind);
      yield;
      if (stored === undefined) checkCreation(config, resource, name);
      const behind = {
        kind: resource.kind,
        apiVersion: apiVersionOf(resource.group, resource.version),
        metadata: { name },
      };
      const whole = shapedConfig(shownAsOf(call), config, behind);
      const object = yield* appliedTo(write, stored, { config: whole, force });
      complain(call, options, duplicates);
      yield;
      return decodedObject(object, resource);
    };
    return (stored, turn) => stepped(turn, steps(stored));
  };
}

async function readConfig(text: string, { yaml, limits }: Call): Promise<YamlBody & { readonly value: JsonObject }> {
  try {
    const { value, duplicates } = await parseYamlBody(yaml, text, limits);
    if (isJsonObject(value)) return { value, duplicates };
  } catch (error) {
    if (!(error instanceof YamlError)) throw error;
    throw badRequest(`error decoding YAML: ${error.message}`);
  }
  throw badRequest("error decoding YAML: the body is not one YAML mapping");
}

/** The findings of strict decoding, after the apply, as in Kubernetes. @throws StatusError BadRequest under Strict */
function complain({ warn }: Call, { fieldValidation }: WriteOptions, duplicates: readonly YamlDuplicate[]): void {
  if (duplicates.length === 0) return;
  if (fieldValidation === "Warn") yamlLines(duplicates).forEach(warn);
  if (fieldValidation === "Strict") {
    throw badRequest(`error strict decoding YAML: error converting YAML to JSON: ${yamlErrors(duplicates)}`);
  }
}

/** @throws StatusError BadRequest for another kind than that of the path, and for owners, which only the server names. */
function checkKind(config: JsonObject, resource: Resource): void {
  const [apiVersion, kind] = [typeText(config, "apiVersion"), typeText(config, "kind")];
  if (apiVersion !== apiVersionOf(resource.group, resource.version) || kind !== resource.kind) {
    const [group, version] = apiVersion.includes("/") ? apiVersion.split("/", 2) : ["", apiVersion];
    throw badRequest(`invalid object type: ${group}/${version}, Kind=${kind}`);
  }
  const owners = metadataOf(config)["managedFields"];
  if (owners !== undefined && owners !== null) throw badRequest("metadata.managedFields must be nil");
}

/** @throws StatusError without a reason, as Kubernetes answers what the schema does not know. */
function* checkFields(config: JsonObject, resource: Resource): Steps<void> {
  const problem = yield* appliedProblem(resource.schema, config);
  if (problem !== undefined) throw failed("failed to create typed patch object", { config, resource, problem });
}

function checkCreation(config: JsonObject, resource: Resource, name: string): void {
  const { name: given, uid } = metadataOf(config);
  if (typeof uid === "string" && uid !== "") {
    const why = `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`;
    throw conflict(resource, name, why);
  }
  if (given === undefined || given === null || given === "") {
    throw badRequest(`the name of the object (${name} based on URL) was undeterminable: name must be provided`);
  }
}

function decodedObject(object: JsonObject, resource: Resource): ApiObject {
  try {
    return decodeTyped(object, resource).object;
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw failed("failed to convert new object", { config: object, resource, problem: error.message });
  }
}

interface Failure {
  readonly config: JsonObject;
  readonly resource: Resource;
  readonly problem: string;
}

function failed(what: string, { config, resource, problem }: Failure): StatusError {
  const { name, namespace } = metadataOf(config);
  const { group, version, kind } = resource;
  const place = `${text(namespace)}/${text(name)}; ${group}/${version}, Kind=${kind}`;
  return new StatusError("", `${what} (${place}): ${problem}`);
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function metadataOf(object: JsonObject): JsonObject {
  const metadata = object["metadata"];
  return isJsonObject(metadata) ? metadata : {};
}

/** What is applied to a subresource as what is applied to the object behind it. */
function shapedConfig(shownAs: ShownAs | undefined, config: JsonObject, behind: ApiObject): JsonObject {
  if (shownAs === undefined) return config;
  const { kind, version, group } = shownAs.kind;
  const metadata = metadataOf(config);
  const { spec } = config;
  const shown: ApiObject = { ...config, kind, apiVersion: apiVersionOf(group, version), metadata };
  // An apply without a spec requests no value, which is not zero.
  const asked = isJsonObject(spec) && Object.keys(spec).length > 0;
  return { ...(asked ? shownAs.write(shown, behind) : behind), metadata };
}
