/** How much a plugin may be relied upon. `stable` ones pass the contract suite in every release. */
export type PluginStatus = 'stable' | 'alpha';
