// What can be done with one row, behind three dots.
import { Menu } from '@mantine/core';
import { Icon } from './icons.tsx';

export interface RowAction {
  word: string;
  run: () => void;
  isDanger?: boolean;
}

export function RowMenu({ label, actions }: { label: string; actions: RowAction[] }) {
  if (actions.length === 0) return null;
  return (
    <Menu position="bottom-end" transitionProps={{ duration: 0 }}>
      <Menu.Target>
        <button type="button" className="icon-btn" aria-label={label} onClick={(event) => event.stopPropagation()}>
          <Icon name="more" />
        </button>
      </Menu.Target>
      <Menu.Dropdown onClick={(event) => event.stopPropagation()}>
        {actions.map((action) => (
          <Menu.Item key={action.word} className={action.isDanger ? 'tone-bad' : undefined} onClick={action.run}>
            {action.word}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
