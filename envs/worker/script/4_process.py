# ---- the process ----


def end():
    """Ends this process with what it has started."""
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(0)


def end_with_the_program(control):
    """Ends this process with the other end of the socket, also in the middle of a step: environments have some time to close."""
    poll = select.poll()
    poll.register(control, select.POLLRDHUP)
    poll.poll()
    time.sleep(CLOSING_S)
    end()


def say(control, message):
    control.send(json.dumps(message).encode())


def open_game(control):
    start = json.loads(control.recv(1 << 16))
    if start["version"] != VERSION:
        say(control, {"version": VERSION, "error": f"the script speaks version {VERSION}, the program {start['version']}"})
        sys.exit(0)
    if sys.version_info < PYTHON_MIN:
        is_, least = (".".join(str(n) for n in version[:2]) for version in (sys.version_info, PYTHON_MIN))
        error = f"Python ({sys.executable}) is {is_}; takes {least} or later, MUZERO_PYTHON names another interpreter"
        say(control, {"version": VERSION, "error": error})
        sys.exit(0)
    threading.Thread(target=end_with_the_program, args=(control.fileno(),), daemon=True).start()
    if start["cores"]:
        try:  # who starts a worker may be bound to some cores
            os.sched_setaffinity(0, start["cores"])
        except OSError:
            pass
    sys.path.insert(0, os.getcwd())
    try:
        game = (Gym if start["kind"] == "gym" else Spiel)(start)
        description = game.describe()
    except Refused as error:
        say(control, {"version": VERSION, "error": str(error)[:ERROR_MAX]})
        sys.exit(0)
    say(control, dict(description, version=VERSION))
    return game


def serve(control, game, memory):
    while control.recv(16):
        _, _, _, row_bytes, serial, count, _, _ = HEADER.unpack_from(memory, 0)
        play = game.play
        for at in range(ROWS_AT, ROWS_AT + count * row_bytes, row_bytes):
            play(at)
        ANSWERED.pack_into(memory, ANSWERED_AT, time.monotonic_ns())
        DONE.pack_into(memory, DONE_AT, serial)
        control.send(b".")


def answer(control, game):
    """Returns when nothing more will be asked."""
    while True:
        data, descriptors, _, _ = socket.recv_fds(control, 1 << 16, 1)
        if not data:
            return
        request = json.loads(data)
        if "measure" in request:
            say(control, game.measure(request["measure"], request["episodes"]))
            continue
        memory = mmap.mmap(descriptors[0], request["bytes"])
        os.close(descriptors[0])
        game.attach(memory, request)
        control.send(b".")
        serve(control, game, memory)
        return


def main():
    control = socket.socket(fileno=3)
    game = open_game(control)
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the program is gone
        answer(control, game)
    game.close()


# A descriptor's path. Processes that multiprocessing starts by spawn or forkserver would look there for the main module.
globals().pop("__file__", None)

try:
    main()
except (BrokenPipeError, ConnectionResetError):
    pass  # the program is gone
except Exception:
    traceback.print_exc()
    sys.stderr.flush()
    os._exit(1)
end()
