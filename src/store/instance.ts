/** The name of an instance: its slot, and how many times that slot was taken before and with it. */
export interface InstanceName {
  readonly slot: number;
  readonly epoch: number;
}
