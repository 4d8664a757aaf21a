/** The URL of the YAML thread's program: beside this module, with the same extension, bundled or not. */
export function yamlThreadUrl(): URL {
  const [ending = ".js"] = /\.[a-z]+$/.exec(import.meta.url) ?? [];
  return new URL(`yaml-thread-program${ending}`, import.meta.url);
}
