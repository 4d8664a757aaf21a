/** Where the program of the YAML thread lies: beside this module, under the same ending, bundled or not. */
export function yamlThreadUrl(): URL {
  const [ending = ".js"] = /\.[a-z]+$/.exec(import.meta.url) ?? [];
  return new URL(`yaml-thread-program${ending}`, import.meta.url);
}
