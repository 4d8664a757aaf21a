import { fieldsSchema, listSchema } from "../apimachinery/configuration-file.ts";
import { decodedFile, firstProblem, quoted } from "./option-file.ts";
import { optionText } from "../host/read-text.ts";
import { inventoryOfCsv, type NodeInventory } from "../controllers/certificates/node-inventory.ts";
import { nodePatternProblem } from "../controllers/certificates/node-name-claims.ts";
import type { ServingApproval } from "../controllers/certificates/serving-approving.ts";
import type { NetworkRule, ServingProvider } from "../controllers/certificates/serving-approving-policy.ts";
import { dnsSubdomainProblems } from "../apimachinery/names.ts";
import { maskedCidr, parseCidr, type Cidr } from "../policy/kubernetes/cidr.ts";
import { HubError } from "../apimachinery/hub-error.ts";

/** `--serving-approval` and `--serving-approval-config`. */
export interface ServingApprovalFlags {
  /** Any of inventory, networks, source-address and dns. */
  readonly providers: readonly string[];
  readonly configFile?: string | undefined;
}

/** The names of providers. */
export const servingProviders: readonly ServingProvider[] = ["inventory", "networks", "source-address", "dns"];

const apiVersion = "pratique.dev/v1alpha1";
const kind = "ServingApproval";
const maxFileCharacters = 8 << 20;

const texts = listSchema({ type: "string" });

const configSchema = fieldsSchema({
  apiVersion: { type: "string" },
  kind: { type: "string" },
  requireNode: { type: "boolean" },
  inventoryFile: { type: "string" },
  reserved: texts,
  networks: listSchema(fieldsSchema({ nodes: texts, cidrs: texts, domains: texts })),
});

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

/** The settings of flags and file for the approval of serving certificates; `reserved` are names and addresses of the API. @throws HubError options for invalid settings */
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

/** The validated file. @throws HubError options, with the path */
export function parseServingApproval(written: string, file: string): WrittenConfig {
  const place = `--serving-approval-config ${file}`;
  const refuse = (problem: string): HubError => new HubError("options", `${place}: ${problem}`);
  const config: WrittenConfig = decodedFile(configSchema, written, place);
  if (config.apiVersion !== apiVersion || config.kind !== kind) {
    throw refuse(`must be of apiVersion ${apiVersion} and kind ${kind}`);
  }
  for (const [index, rule] of (config.networks ?? []).entries()) {
    const problem = ruleProblem(rule);
    if (problem !== undefined) throw refuse(`networks[${index}].${problem}`);
  }
  return config;
}

function ruleProblem({ nodes = [], cidrs = [], domains = [] }: WrittenRule): string | undefined {
  if (nodes.length === 0) return "nodes: must hold at least one pattern of node names";
  if (cidrs.length + domains.length === 0) return "cidrs: must hold at least one network, unless domains are given";
  return (
    firstProblem(nodes, (pattern, index) => {
      const problem = nodePatternProblem(pattern);
      return problem && `nodes[${index}]: ${quoted(pattern)}: ${problem}`;
    }) ??
    firstProblem(cidrs, (cidr, index) =>
      networkOf(cidr) ? undefined : `cidrs[${index}]: ${quoted(cidr)}: must be a network, its host bits clear`,
    ) ??
    firstProblem(domains, (domain, index) => {
      const [problem] = dnsSubdomainProblems(domain);
      return problem && `domains[${index}]: ${quoted(domain)}: ${problem}`;
    })
  );
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
  const read = await optionText("--serving-approval-config", file);
  if (read.length <= maxFileCharacters) return read;
  throw new HubError("options", `${file} is larger than ${maxFileCharacters} characters`);
}
