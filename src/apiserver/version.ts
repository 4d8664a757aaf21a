/** The Kubernetes release whose API this hub speaks: what kubectl compares itself with. */
export const kubernetesMinor = 36;

/** The body of `/version`; `release` is Pratique's own version. */
export function versionInfo(release: string, platform: string): object {
  return {
    major: "1",
    minor: String(kubernetesMinor),
    emulationMajor: "1",
    emulationMinor: String(kubernetesMinor),
    minCompatibilityMajor: "1",
    minCompatibilityMinor: String(kubernetesMinor),
    gitVersion: `v1.${kubernetesMinor}.0+pratique.${release}`,
    gitCommit: "",
    gitTreeState: "clean",
    buildDate: "1970-01-01T00:00:00Z",
    goVersion: "",
    compiler: "",
    platform,
  };
}
