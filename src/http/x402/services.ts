import type { GrantStore } from '../../admin/use-cases/keys.ts';
import type { Gateway } from '../../gateway/request/gateway.ts';
import type { X402Parts } from '../../payments/funding/gateway.ts';
import type { RouteServices } from '../kit/route-services.ts';

/** A gateway that accepts payments through x402. */
export type X402Gateway = Gateway & X402Parts;

/** The services of the payment routes. */
export interface X402Services extends RouteServices {
  readonly gateway: X402Gateway;
  /** The store to which operators' grants to wallets are written. */
  readonly store: GrantStore;
}
