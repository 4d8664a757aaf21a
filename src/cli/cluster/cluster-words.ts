/** On a cluster that was shut out: why, in the words of whoever did it. */
export const deniedBecause = "registration.pratique.dev/denied-because";
