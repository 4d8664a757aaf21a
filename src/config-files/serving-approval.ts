import { readFile } from "node:fs/promises";
import { inventoryOfCsv, type NodeInventory } from "../controllers/certificates/node-inventory.ts";
import { nodePatternProblem } from "../controllers/certificates/node-name-claims.ts";
import type { ServingApproval } from "../controllers/certificates/serving-approving.ts";
import type { NetworkRule, ServingProvider } from "../controllers/certificates/serving-approving-policy.ts";
import { DecodeError } from "../apimachinery/decode-error.ts";
import { decodeObject } from "../apimachinery/decode.ts";
import { dnsSubdomainProblems } from "../apimachinery/names.ts";
import type { ArraySchema, ObjectSchema } from "../apimachinery/schema.ts";
import { loadYaml, YamlError } from "../serializer/yaml/bounded-yaml.ts";
import { maskedCidr, parseCidr, type Cidr } from "../policy/kubernetes/cidr.ts";
import { HubError } from "../apimachinery/hub-error.ts";
import { systemErrorText } from "../apimachinery/system-error.ts";

/** `--serving-approval` and `--serving-approval-config`. */
export interface ServingApprovalFlags {
  /** Of inventory, networks, source-address and dns. */
  readonly providers: readonly string[];
  readonly configFile?: string | undefined;
}

/** The names by which providers are asked for. */
export const servingProviders: readonly ServingProvider[] = ["inventory", "networks", "source-address", "dns"];

const apiVersion = "pratique.dev/v1alpha1";
const kind = "ServingApproval";
const maxFileCharacters = 8 << 20;
const maxCharacters = 1 << 20;

const texts: ArraySchema = { type: "array", items: { type: "string" } };

const configSchema: ObjectSchema = {
  type: "object",
  properties: {
    apiVersion: { schema: { type: "string" } },
    kind: { schema: { type: "string" } },
    requireNode: { schema: { type: "boolean" } },
    inventoryFile: { schema: { type: "string" } },
    reserved: { schema: texts },
    networks: {
      schema: {
        type: "array",
        items: {
          type: "object",
          properties: { nodes: { schema: texts }, cidrs: { schema: texts }, domains: { schema: texts } },
        },
      },
    },
  },
};

interface WrittenConfig {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly requireNode?: boolean;
  readonly inventoryFile?: string;
  readonly reserved?: readonly string[];
  readonly networks?: readonly WrittenRule[];
}

interface WrittenRule {
  readonly nodes?: readonly string[];
  readonly cidrs?: readonly string[];
  readonly domains?: readonly string[];
}

/**
 * What flags and file say about the approval of serving certificates; `reserved` are names and addresses of the API.
 * @throws HubError options where they say nothing sound
 */
export async function readServingApproval(
  { providers: asked, configFile }: ServingApprovalFlags,
  reserved: readonly string[],
): Promise<ServingApproval> {
  const providers = servingProviders.filter((one) => asked.includes(one));
  const config = configFile === undefined ? {} : parseServingApproval(await text(configFile), configFile);
  const inconsistent = inconsistency(providers, config);
  if (inconsistent !== undefined) throw new HubError("options", `--serving-approval: ${inconsistent}`);
  const { inventoryFile } = config;
  return {
    providers,
    networks: (config.networks ?? []).map(networkRule),
    requireNode: config.requireNode ?? true,
    reserved: [...reserved, ...(config.reserved ?? [])],
    ...(inventoryFile === undefined ? {} : { inventory: await inventoryIn(inventoryFile) }),
  };
}

function inconsistency(providers: readonly ServingProvider[], config: WrittenConfig): string | undefined {
  if (providers.includes("dns") && !providers.includes("inventory") && !providers.includes("source-address")) {
    return "dns proves nothing by itself; name inventory or source-address too";
  }
  if (providers.includes("networks") !== (config.networks ?? []).length > 0) {
    return "networks and the field networks in --serving-approval-config come together";
  }
  return config.inventoryFile !== undefined && !providers.includes("inventory")
    ? "inventoryFile in --serving-approval-config needs inventory"
    : undefined;
}

/** The file as it is written, all of it sound. @throws HubError options, with the place */
export function parseServingApproval(written: string, file: string): WrittenConfig {
  const refuse = (problem: string): HubError =>
    new HubError("options", `--serving-approval-config ${file}: ${problem}`);
  const config = decoded(written, refuse);
  if (config.apiVersion !== apiVersion || config.kind !== kind) {
    throw refuse(`must be of apiVersion ${apiVersion} and kind ${kind}`);
  }
  for (const [index, rule] of (config.networks ?? []).entries()) {
    const problem = ruleProblem(rule);
    if (problem !== undefined) throw refuse(`networks[${index}].${problem}`);
  }
  return config;
}

function decoded(written: string, refuse: (problem: string) => HubError): WrittenConfig {
  try {
    const { object, unknown } = decodeObject(configSchema, loadYaml(written, { maxCharacters, numbers: "number" }));
    if (unknown.length > 0) throw refuse(`unknown field ${quoted(unknown[0] ?? "")}`);
    return object;
  } catch (error) {
    if (error instanceof DecodeError) throw refuse(`${error.path === "" ? "" : `${error.path}: `}${error.message}`);
    if (error instanceof YamlError) throw refuse(error.message);
    throw error;
  }
}

function ruleProblem({ nodes = [], cidrs = [], domains = [] }: WrittenRule): string | undefined {
  if (nodes.length === 0) return "nodes: must hold at least one pattern of node names";
  if (cidrs.length + domains.length === 0) return "cidrs: must hold at least one network, unless domains are given";
  for (const [index, pattern] of nodes.entries()) {
    const problem = nodePatternProblem(pattern);
    if (problem !== undefined) return `nodes[${index}]: ${quoted(pattern)}: ${problem}`;
  }
  for (const [index, text] of cidrs.entries()) {
    if (networkOf(text) === undefined)
      return `cidrs[${index}]: ${quoted(text)}: must be a network, its host bits clear`;
  }
  for (const [index, domain] of domains.entries()) {
    const [problem] = dnsSubdomainProblems(domain);
    if (problem !== undefined) return `domains[${index}]: ${quoted(domain)}: ${problem}`;
  }
  return undefined;
}

function networkRule({ nodes = [], cidrs = [], domains = [] }: WrittenRule): NetworkRule {
  return { nodes, domains, cidrs: cidrs.flatMap((one) => networkOf(one) ?? []) };
}

function networkOf(text: string): Cidr | undefined {
  const parsed = parseCidr(text);
  if ("problem" in parsed) return undefined;
  return maskedCidr(parsed.cidr).ip.value === parsed.cidr.ip.value ? parsed.cidr : undefined;
}

async function inventoryIn(file: string): Promise<NodeInventory> {
  const inventory = inventoryOfCsv(await text(file));
  const [problem] = [...inventory.problems].flatMap(([node, problems]) => problems.map((one) => `${node}: ${one}`));
  if (problem !== undefined) throw new HubError("options", `inventoryFile ${file}: ${problem}`);
  return inventory;
}

async function text(file: string): Promise<string> {
  try {
    const read = await readFile(file, "utf8");
    if (read.length <= maxFileCharacters) return read;
  } catch (error) {
    throw new HubError(
      "options",
      `--serving-approval-config: ${systemErrorText(error, { operation: "read", at: file })}`,
      { cause: error },
    );
  }
  throw new HubError("options", `${file} is larger than ${maxFileCharacters} characters`);
}

function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 200));
}
