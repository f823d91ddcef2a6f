// Every ledger command of the fiscal registers.
import { CommandList } from './command-list.tsx';

export function Fiscal() {
  return <CommandList mode="fiscal" base="/fiscal" />;
}
