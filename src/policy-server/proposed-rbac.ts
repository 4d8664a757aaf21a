import { bootstrapPolicy } from "../authorization/bootstrap-policy/system-roles.ts";
import { kubeadmPolicy } from "../authorization/bootstrap-policy/kubeadm-policy.ts";
import { rbacIndex, type RbacIndex } from "../authorization/rbac-index.ts";
import { readRbacManifest } from "../authorization/rbac-manifest.ts";
import { readRbac } from "../authorization/rbac-reader.ts";
import type { Client } from "../client/client.ts";
import type { RbacKind, RbacObject } from "../authorization/rbac-types.ts";
import { neededRules } from "../controllers/objects/cluster-role-aggregation.ts";
import { SelectorError } from "../apimachinery/selector-error.ts";
import { loadYamlDocuments, YamlError } from "../serializer/yaml/bounded-yaml.ts";
import { OptionError } from "../apimachinery/option-error.ts";
import { readText, type NamedFiles } from "../host/read-text.ts";

const maxCharacters = 32 << 20;
/** Roles gather from roles that gather; Kubernetes' own do so once. */
const maxRounds = 8;

export interface ProposedRbacOptions {
  /** Manifests with roles and bindings. */
  readonly files: readonly string[];
  /** What is there besides: nothing, the default policy and `also`, or what the server has. */
  readonly base: "none" | "defaults" | "server";
  readonly also?: readonly RbacObject[];
  /** The namespace of objects that name none. */
  readonly namespace: string;
  /** Calls `use` with a client of the server. */
  readonly withClient: <T>(use: (client: Client) => Promise<T>) => Promise<T>;
  readonly world: NamedFiles;
}

/** The roles and bindings that `--rbac` and `--rbac-base` describe. @throws OptionError usage naming file, object and field; refused */
export async function proposedRbac(options: ProposedRbacOptions): Promise<RbacIndex> {
  const { files, base, also = [] } = options;
  if (base === "none" && files.length === 0) {
    throw new OptionError("usage", "--rbac-base none needs --rbac: no user would have any right");
  }
  const objects = new Map<string, RbacObject>();
  const put = (object: RbacObject): void => {
    objects.set(`${object.kind}/${object.metadata.namespace ?? ""}/${object.metadata.name}`, object);
  };
  if (base === "server") (await options.withClient(rolesOfServer)).forEach(put);
  if (base === "defaults") [...also, ...bootstrapPolicy(), ...kubeadmPolicy({ nodeAutoapprove: true })].forEach(put);
  for (const file of files) (await objectsOf(file, options)).forEach(put);
  const index = rbacIndex();
  for (const object of aggregated([...objects.values()])) {
    index.apply({ type: "put", kind: object.kind as RbacKind, object });
  }
  return index;
}

/** All of them: a chain without some would be another one. @throws OptionError refused */
async function rolesOfServer(client: Client): Promise<readonly RbacObject[]> {
  const objects: RbacObject[] = [];
  const unseen = await readRbac(client, "", (kind, object) => void objects.push({ ...object, kind }));
  if (unseen.length === 0) return objects;
  throw new OptionError("refused", `--rbac-base server: you may not list ${unseen.join(", ")}`);
}

async function objectsOf(file: string, { namespace, world }: ProposedRbacOptions): Promise<readonly RbacObject[]> {
  const { objects, errors } = readRbacManifest(await documentsOf(file, world), namespace);
  const [first, ...more] = errors;
  if (first !== undefined) throw new OptionError("usage", `--rbac ${file}: ${first}`, more.slice(0, 9));
  if (objects.length === 0) throw new OptionError("usage", `--rbac ${file} holds no roles and no bindings`);
  return objects;
}

async function documentsOf(file: string, world: NamedFiles): Promise<readonly unknown[]> {
  const text = await readText("rbac", file, world);
  if (text.length > maxCharacters) {
    throw new OptionError("usage", `--rbac ${file} is larger than ${maxCharacters} characters`);
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
    if (error instanceof YamlError) throw new OptionError("usage", `--rbac ${file}: ${error.message}`);
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
