// The stage: till, gateway, terminal and register as things, the lines between them, and the controls of each.
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { Play, PlayDevice, Playground } from '../../api/playground.ts';
import { useViewer } from '../../api/session.tsx';
import { DeviceControls } from './controls.tsx';
import { GatewayNode } from './gateway-node.tsx';
import { Register } from './register.tsx';
import { type Message, onLines } from './round.ts';
import { routesOf } from './routes.ts';
import { Terminal } from './terminal.tsx';
import { Till } from './till.tsx';
import { TillControls } from './till-controls.tsx';
import { usePlaces } from './use-places.ts';
import { WireLog, Wires } from './wires.tsx';

interface StageProps {
  playground: Playground;
  messages: readonly Message[];
  terminal: PlayDevice | undefined;
  register: PlayDevice | undefined;
  onChoose: (device: PlayDevice) => void;
  isFree: boolean;
  play: Play | undefined;
}

export function Stage({ playground, messages, terminal, register, onChoose, isFree, play }: StageProps) {
  const { t } = useTranslation();
  const { session } = useViewer();
  const [stage, { form, places }] = usePlaces(`${terminal?.id} ${register?.id}`);
  const lines = useMemo(() => onLines(messages), [messages]);
  const choose = (id: string) => {
    const device = playground.devices.find((one) => one.id === id);
    if (device) onChoose(device);
  };
  const ofKind = (kind: PlayDevice['kind']) => playground.devices.filter((device) => device.kind === kind);
  const bankName = session.banks.find(({ code }) => code === terminal?.bank)?.name ?? terminal?.bank ?? '';
  return (
    <section className="stage-frame" aria-label={t('playground.stage')}>
      <div className={`stage ${form}`} ref={stage}>
        {places && <Wires routes={routesOf(form, places)} messages={messages} lines={lines} terminal={terminal} register={register} />}
        <div className="place-till">
          <span className="thing-name">{t('playground.till.title')}</span>
          <Till till={playground.till} />
        </div>
        <div className="place-gateway">
          <GatewayNode messages={messages} unknown={playground.books.ledger.unknown} />
        </div>
        {terminal && (
          <div className="place-terminal">
            <span className="thing-name">{t('playground.controls.terminal')}</span>
            <Terminal device={terminal} bankName={bankName} play={terminal.byHand ? play : undefined} />
          </div>
        )}
        {register && (
          <div className="place-register">
            <Register device={register} />
          </div>
        )}
        <div className="place-till-controls">
          <TillControls
            till={playground.till}
            terminalId={terminal?.id}
            registerId={register?.id}
            isFree={isFree}
            hasCalls={playground.calls.length > 0}
            play={play}
          />
        </div>
        {terminal && (
          <div className="place-terminal-controls">
            <DeviceControls device={terminal} devices={ofKind('terminal')} onChoose={choose} play={play} />
          </div>
        )}
        {register && (
          <div className="place-register-controls">
            <DeviceControls device={register} devices={ofKind('register')} onChoose={choose} play={play} />
          </div>
        )}
      </div>
      <WireLog messages={messages} />
    </section>
  );
}
