/** Says how to be told about shares of any budget. @param shares such as `0.5`; empty for the usual shares */
export const alertRuleHint = (shares: readonly string[]): string =>
  `only the section \`budgets\` has \`alert_at\`. For every budget, add an alert rule: \`alerts: { rules: [{ name: budgets, on: budget_share, at: [${(shares.length > 0 ? shares : ['0.8', '1']).join(', ')}], to: [WEBHOOK] }] }\``;
