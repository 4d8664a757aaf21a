import type { Random } from "./random.ts";
import { apiGroups, groups, namespaces, pathPatterns, resources, users } from "./words.ts";

/** One line of an ABAC policy file as an object. */
export interface AbacLine {
  readonly user?: string;
  readonly group?: string;
  readonly readonly?: boolean;
  readonly apiGroup?: string;
  readonly resource?: string;
  readonly namespace?: string;
  readonly nonResourcePath?: string;
  /** Whether it stands in the old form, which has neither group of the API nor path. */
  readonly isOld: boolean;
}

/** Policies of both forms. */
export function randomAbac(random: Random, count: number): readonly AbacLine[] {
  return Array.from({ length: count }, () => {
    const isOld = random.chance(0.3);
    const given = (share: number, fields: Partial<AbacLine>): Partial<AbacLine> => (random.chance(share) ? fields : {});
    const star = (list: readonly string[], share: number): string => (random.chance(share) ? "*" : random.one(list));
    const who = random.chance(0.5)
      ? { user: star(users, 0.02) }
      : { group: star(groups, 0.02), ...given(0.2, { user: random.one(users) }) };
    const reading = given(0.4, { readonly: true });
    if (isOld) {
      // With neither resource nor namespace it would allow everything.
      const what = { resource: star(resources, 0.1), ...given(0.6, { namespace: star(namespaces, 0.2) }) };
      return { isOld, ...who, ...what, ...reading };
    }
    if (random.chance(0.25)) return { isOld, ...who, nonResourcePath: random.one(pathPatterns), ...reading };
    const what = {
      ...given(0.8, { apiGroup: star(apiGroups, 0.3) }),
      ...given(0.9, { resource: star(resources, 0.15) }),
      ...given(0.8, { namespace: star(namespaces, 0.3) }),
    };
    return { isOld, ...who, ...what, ...reading };
  });
}

/** The policy file. */
export function abacFile(lines: readonly AbacLine[]): string {
  const head = { apiVersion: "abac.authorization.kubernetes.io/v1beta1", kind: "Policy" };
  const texts = lines.map(({ isOld, ...spec }) => JSON.stringify(isOld ? spec : { ...head, spec }));
  return `# generated\n\n${texts.join("\n")}\n`;
}
