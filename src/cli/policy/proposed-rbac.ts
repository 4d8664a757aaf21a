import { bootstrapPolicy } from "../../authz/bootstrap-policy/bootstrap-policy.ts";
import { kubeadmPolicy } from "../../authz/bootstrap-policy/kubeadm-policy.ts";
import { rbacIndex, type RbacIndex } from "../../authz/rbac-index.ts";
import { readRbacManifest } from "../../authz/rbac-manifest.ts";
import type { RbacKind, RbacObject } from "../../authz/rbac-types.ts";
import { neededRules } from "../../controllers/objects/cluster-role-aggregation-policy.ts";
import { SelectorError } from "../../core/selector-error.ts";
import { loadYamlDocuments, YamlError } from "../../formats/bounded-yaml.ts";
import { CliError } from "../cli-error.ts";
import type { Args } from "../command.ts";
import type { Io } from "../io.ts";
import { readText } from "../read-text.ts";

const maxCharacters = 32 << 20;
/** Roles gather from roles that gather; Kubernetes' own do so once. */
const maxRounds = 8;

/** The roles and bindings that `--rbac` and `--rbac-base` describe; `also` are there as well. @throws CliError usage naming file, object and field */
export async function proposedRbac(args: Args, io: Io, also: readonly RbacObject[] = []): Promise<RbacIndex> {
  const files = args.list("rbac");
  const base = args.text("rbac-base");
  if (base === "none" && files.length === 0) {
    throw new CliError("usage", "--rbac-base none needs --rbac: nobody would have any right");
  }
  const objects = new Map<string, RbacObject>();
  const put = (object: RbacObject): void => {
    objects.set(`${object.kind}/${object.metadata.namespace ?? ""}/${object.metadata.name}`, object);
  };
  if (base === "server") (await rolesOfServer(args, io)).forEach(put);
  if (base === "defaults") [...also, ...bootstrapPolicy(), ...kubeadmPolicy({ nodeAutoapprove: true })].forEach(put);
  for (const file of files) (await objectsOf(file, { args, io })).forEach(put);
  const index = rbacIndex();
  for (const object of aggregated([...objects.values()])) {
    index.apply({ type: "put", kind: object.kind as RbacKind, object });
  }
  return index;
}

/** All of them: a chain without some would be another one. @throws CliError refused */
async function rolesOfServer(args: Args, io: Io): Promise<readonly RbacObject[]> {
  const { withServer } = await import("../server-access.ts");
  const { readRbac } = await import("./read-policy.ts");
  const objects: RbacObject[] = [];
  const unseen = await withServer(args, io, ({ client }) =>
    readRbac(client, "", (kind, object) => void objects.push({ ...object, kind })),
  );
  if (unseen.length === 0) return objects;
  throw new CliError("refused", `--rbac-base server: you may not list ${unseen.join(", ")}`);
}

async function objectsOf(
  file: string,
  { args, io }: { readonly args: Args; readonly io: Io },
): Promise<readonly RbacObject[]> {
  const { objects, errors } = readRbacManifest(await documentsOf(file, io), args.text("namespace") ?? "");
  const [first, ...more] = errors;
  if (first !== undefined) throw new CliError("usage", `--rbac ${file}: ${first}`, more.slice(0, 9));
  if (objects.length === 0) throw new CliError("usage", `--rbac ${file} holds no roles and no bindings`);
  return objects;
}

async function documentsOf(file: string, io: Io): Promise<readonly unknown[]> {
  const text = await readText("rbac", file, io);
  if (text.length > maxCharacters) {
    throw new CliError("usage", `--rbac ${file} is larger than ${maxCharacters} characters`);
  }
  if (text.trimStart().startsWith("{")) {
    try {
      return [JSON.parse(text) as unknown];
    } catch {
      // YAML may begin so as well.
    }
  }
  try {
    return loadYamlDocuments(text, { maxCharacters, numbers: "number" });
  } catch (error) {
    if (error instanceof YamlError) throw new CliError("usage", `--rbac ${file}: ${error.message}`);
    throw error;
  }
}

/** What the controller would make of ClusterRoles that gather their rules from others. */
function aggregated(objects: readonly RbacObject[]): readonly RbacObject[] {
  let current = objects;
  for (let round = 0; round < maxRounds; round += 1) {
    const roles = current.filter(({ kind }) => kind === "ClusterRole");
    const next = current.map((object) => {
      const rules = object.kind === "ClusterRole" ? gathered(object, roles) : undefined;
      return rules === undefined ? object : ({ ...object, rules } as RbacObject);
    });
    if (next.every((object, index) => object === current[index])) break;
    current = next;
  }
  return current;
}

function gathered(role: RbacObject, all: readonly RbacObject[]): readonly unknown[] | undefined {
  if (!("aggregationRule" in role) || role.aggregationRule === undefined) return undefined;
  try {
    return neededRules(role, all);
  } catch (error) {
    if (error instanceof SelectorError) return undefined;
    throw error;
  }
}
