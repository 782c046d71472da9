import type { InstanceName } from '../instance.ts';

/** The columns that name the instance which owns a row; null for none. */
export interface StoredOwner {
  readonly slot: number | null;
  readonly epoch: number | null;
}

export const ownerOf = ({ slot, epoch }: StoredOwner): InstanceName | null =>
  slot === null || epoch === null ? null : { slot, epoch };

export const storedOwner = (owner: InstanceName | null): StoredOwner => ({
  slot: owner?.slot ?? null,
  epoch: owner?.epoch ?? null,
});
