/** The part of the package that tests use; it brings no types. */
declare module 'oidc-provider' {
  import type { IncomingMessage, ServerResponse } from 'node:http';

  interface Grant {
    addOIDCScope(scope: string): void;
    save(): Promise<string>;
  }
  export interface Context {
    readonly oidc: {
      readonly provider: { readonly Grant: new (of: { clientId: string; accountId: string }) => Grant };
      readonly client: { readonly clientId: string };
      readonly session: { readonly accountId: string };
    };
  }
  interface Configuration {
    readonly clients: readonly object[];
    readonly cookies: object;
    readonly claims: Readonly<Record<string, readonly string[]>>;
    readonly scopes: readonly string[];
    readonly features: object;
    readonly ttl: Readonly<Record<string, number>>;
    findAccount(context: Context, id: string): Promise<{ accountId: string; claims(): Promise<object> } | undefined>;
    loadExistingGrant(context: Context): Promise<Grant>;
    issueRefreshToken(): Promise<boolean>;
    rotateRefreshToken(): boolean;
  }
  export default class Provider {
    constructor(issuer: string, configuration: Configuration);
    callback(): (request: IncomingMessage, response: ServerResponse) => Promise<void>;
  }
}
