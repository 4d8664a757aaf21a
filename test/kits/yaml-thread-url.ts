import { inject } from "vitest";

declare module "vitest" {
  interface ProvidedContext {
    /** Where the program of the YAML thread lies in JavaScript; see yaml-thread-setup.ts. */
    yamlThreadProgram: string;
  }
}

/** Stands for src/serializer/yaml/yaml-thread-url.ts in tests (vitest.config.ts): a worker of Node 20 runs no TypeScript. */
export function yamlThreadUrl(): URL {
  return new URL(inject("yamlThreadProgram"));
}
