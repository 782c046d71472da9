import type { InstanceReport, InstanceReportTable } from '../../../src/store/instance-reports.ts';
import { type MemoryStore, MemoryTable } from './store.ts';

/** Of a store in memory, every instance that has reported is taken to run. */
export function memoryInstanceReports(store: MemoryStore): InstanceReportTable {
  const rows = new MemoryTable<number, InstanceReport>(store);
  const bySlot = () => rows.rows().sort((one, other) => one.slot - other.slot);
  return {
    all: async () => bySlot(),
    present: async () => bySlot().map(({ slot, epoch }) => ({ slot, epoch, renewed: null })),
    put: (report) => store.write(() => rows.put(report.slot, { ...report })),
  };
}
