import { optionText } from "../host/read-text.ts";
import { fieldsError, yamlOf } from "./option-file.ts";
import type { AutoApproval } from "../controllers/clusters/cluster-approving-policy.ts";
import { nodePatternProblem } from "../controllers/certificates/node-name-claims.ts";
import { fieldsSchema, listSchema, readConfigurationFile } from "../apimachinery/configuration-file.ts";
import { invalid, required, type FieldError } from "../apimachinery/field-error.ts";

const kind = {
  kind: "ClusterRegistration",
  apiVersions: ["pratique.dev/v1alpha1"],
  schema: fieldsSchema({
    apiVersion: { type: "string" },
    kind: { type: "string" },
    autoApproval: listSchema(
      fieldsSchema({
        user: { type: "string" },
        clusters: listSchema({ type: "string" }),
        rejoin: { type: "boolean" },
      }),
    ),
  }),
};

interface Written {
  readonly autoApproval?: readonly Partial<AutoApproval>[];
}

/** The identities that join clusters without an approver, from the file. @throws HubError options, with the field */
export async function readClusterRegistration(file: string): Promise<readonly AutoApproval[]> {
  const place = `--registration-config ${file}`;
  const { rules, errors } = parseClusterRegistration(yamlOf(await optionText(place, file), place));
  if (errors.length === 0) return rules;
  throw fieldsError(place, errors);
}

/** The rules of a file, and all its problems. */
export function parseClusterRegistration(value: unknown): {
  readonly rules: readonly AutoApproval[];
  readonly errors: readonly FieldError[];
} {
  const { object, errors } = readConfigurationFile(value, kind);
  const { autoApproval = [] } = object as Written;
  const rules = autoApproval.map(({ user = "", clusters = [], rejoin = false }) => ({ user, clusters, rejoin }));
  return { rules, errors: [...errors, ...rules.flatMap(ruleErrors)] };
}

function ruleErrors({ user, clusters }: AutoApproval, index: number): readonly FieldError[] {
  const path = `autoApproval[${index}]`;
  return [
    ...(user === "" ? [required(`${path}.user`, "the exact name of a user")] : []),
    ...(clusters.length === 0
      ? [required(`${path}.clusters`, "the names that this user may join clusters under")]
      : []),
    ...clusters.flatMap((pattern, at) => {
      const problem = nodePatternProblem(pattern);
      return problem === undefined ? [] : [invalid(`${path}.clusters[${at}]`, pattern, problem)];
    }),
  ];
}
