%% Processes that pass messages in a ring, a table that many write to, and files, whose calls run on
%% schedulers of their own.
-module(processes).
-export([main/1]).

main([Argument]) ->
    Rounds = list_to_integer(Argument),
    {Hops, _} = ring(100, 100 * Rounds),
    io:format("~p hops~n", [Hops]),
    io:format("~p counted in ~p entries~n", tuple_to_list(table(16, 2000 * Rounds))),
    io:format("~p read back~n", [files(8, 20 * Rounds)]),
    halt(0).

%% A token that each process passes on, after it has counted itself.
ring(Members, Rounds) ->
    First = lists:foldl(
        fun(_, Next) -> spawn_link(fun() -> pass_on(Next) end) end, self(), lists:seq(1, Members)
    ),
    Tokens = [begin First ! {Token, 0}, Token end || Token <- lists:seq(1, 10)],
    Counts = around(First, length(Tokens) * Rounds, 0),
    [receive {Token, _} -> ok end || Token <- Tokens],
    {Counts, First}.

pass_on(Next) ->
    receive
        {Token, Count} -> Next ! {Token, Count + 1}, pass_on(Next)
    end.

around(_, 0, Sum) ->
    Sum;
around(First, Left, Sum) ->
    receive
        {Token, Count} -> First ! {Token, 0}, around(First, Left - 1, Sum + Count)
    end.

table(Writers, Times) ->
    Table = ets:new(table, [public, {write_concurrency, true}, {read_concurrency, true}]),
    together(Writers, fun(Writer) ->
        [
            begin
                ets:update_counter(Table, At rem 37, 1, {At rem 37, 0}),
                ets:insert(Table, {{Writer, At rem 500}, At})
            end
         || At <- lists:seq(1, Times)
        ]
    end),
    Counted = lists:sum([Count || {Key, Count} <- ets:tab2list(Table), is_integer(Key)]),
    {Counted, ets:info(Table, size)}.

files(Writers, Times) ->
    Counts = together(Writers, fun(Writer) ->
        Name = "file" ++ integer_to_list(Writer),
        Same = [
            true
         || At <- lists:seq(1, Times),
            ok =:= file:write_file(Name, <<At:32>>),
            {ok, <<At:32>>} =:= file:read_file(Name)
        ],
        length(Same)
    end),
    lists:sum(Counts).

%% What each of some processes returns.
together(Number, Work) ->
    Self = self(),
    [spawn_link(fun() -> Self ! {Number, Work(At)} end) || At <- lists:seq(1, Number)],
    [receive {Number, Result} -> Result end || _ <- lists:seq(1, Number)].
