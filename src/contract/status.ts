/** How stable a plugin is. `stable` plugins pass the contract test suite in every release. */
export type PluginStatus = 'stable' | 'alpha';
