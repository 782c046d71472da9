/** Creates a table that maps each name to its meaning, from lists of the names of each meaning. */
export const meaningsOf = <Meaning, Name = string>(
  groups: readonly (readonly [Meaning, readonly Name[]])[],
): ReadonlyMap<Name, Meaning> =>
  new Map(groups.flatMap(([meaning, names]) => names.map((name) => [name, meaning] as const)));
