/** The page of the documentation for each view of the navigation: a file in `docs/`, which the server serves at `/docs/guide/`. */
export const DOCS_OF_VIEWS = {
  overview: 'operate/console.md',
  playground: 'route/how-a-model-is-chosen.md',
  requests: 'route/explain.md',
  policies: 'policies/guide.md',
  people: 'operate/people.md',
  money: 'spend/reports.md',
  fleet: 'route/failover.md',
} as const;
