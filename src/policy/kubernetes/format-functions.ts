import type { CelFunction } from "../cel/environment.ts";
import { listType, optionalType, stringType } from "../cel/types.ts";
import { celOptional, type CelOpaque } from "../cel/values.ts";
import { libraryType } from "./library-type.ts";
import { namedFormats, type NamedFormat } from "./named-formats.ts";
import { patternCost } from "./text-cost.ts";

const format = libraryType<NamedFormat>("kubernetes.NamedFormat", (one, other) => one.name === other.name);

/** Named formats: `format.dns1123Label().validate(self)` is absent, or says what is wrong. Source: apiserver cel/library format. */
export const formatFunctions: readonly CelFunction[] = [
  {
    name: "format.named",
    overloads: [
      {
        args: [stringType],
        result: optionalType(format.type),
        apply: (name: string) => {
          const found = namedFormats.get(name);
          return celOptional(found === undefined ? undefined : format.wrap(found));
        },
      },
    ],
  },
  {
    name: "validate",
    member: true,
    overloads: [
      {
        args: [format.type, stringType],
        result: optionalType(listType(stringType)),
        cost: (one: CelOpaque, text: string) => patternCost(text.length, format.unwrap(one).regexSize),
        apply: (one: CelOpaque, text: string) => {
          const problems = format.unwrap(one).problems(text);
          return celOptional(problems.length === 0 ? undefined : problems);
        },
      },
    ],
  },
  ...Array.from(namedFormats, ([name, one]): CelFunction => ({
    name: `format.${name}`,
    overloads: [{ args: [], result: format.type, apply: () => format.wrap(one) }],
  })),
];
