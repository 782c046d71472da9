/** What a key may do. `/v1/models` needs any of them. */
export const SCOPES = ['chat', 'route', 'admin'] as const;
export type Scope = (typeof SCOPES)[number];

/** Who sends a request: an API key, without its secret. */
export interface Caller {
  readonly keyId: string;
  readonly scopes: ReadonlySet<Scope>;
  readonly labels: Readonly<Record<string, string>>;
  /** IDs of the models that the key may use; null for all. */
  readonly models: ReadonlySet<string> | null;
}
