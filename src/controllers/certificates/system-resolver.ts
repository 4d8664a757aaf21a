import { Resolver } from "node:dns/promises";
import type { ServingResolver } from "./serving-approving.ts";

/** What servers answer of a name that has no records of a kind; all else says that they could not be asked. Source: c-ares. */
const noRecords: ReadonlySet<unknown> = new Set(["ENODATA", "ENOTFOUND"]);

/** Asks the servers of the system, each for two seconds, twice. @throws the reason of the resolver, with its code, where they could not be asked */
export function systemResolver(): ServingResolver {
  const resolver = new Resolver({ timeout: 2000, tries: 2 });
  const orNothing = async (asked: Promise<readonly string[]>): Promise<readonly string[]> => {
    try {
      return await asked;
    } catch (error) {
      if (error instanceof Error && "code" in error && noRecords.has(error.code)) return [];
      throw error;
    }
  };
  return {
    addressesOf: async (name) => {
      const both = await Promise.all([orNothing(resolver.resolve4(name)), orNothing(resolver.resolve6(name))]);
      return both.flat();
    },
    namesOf: async (address) => orNothing(resolver.reverse(address)),
  };
}
